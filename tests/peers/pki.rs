//! A certificate authority of one test.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The root to trust.
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // OpenSSL takes a certificate with its issuer's name for the issuer's own.
        params.distinguished_name.push(DnType::CommonName, "root of a test");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for names and addresses, and its key, both in PEM.
    pub(crate) fn certificate(&self, names: &[String]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        (leaf.pem(), key.serialize_pem())
    }
}
