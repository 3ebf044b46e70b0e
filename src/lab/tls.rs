//! The lab's own certificate authority, new with each lab.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use std::io;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const HTTP1: &[u8] = b"http/1.1";
pub(super) const HTTP2: &[u8] = b"h2";

pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(super) fn generate() -> io::Result<Self> {
        let mut params = params("tower-egress lab root", Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let pem = params.self_signed(&key).map_err(io::Error::other)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// The root to trust.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// Speaks TLS under these names, and as the loopback addresses themselves; offers HTTP/1.1.
    pub(super) fn acceptor(&self, names: &[&str]) -> io::Result<TlsAcceptor> {
        let all = names.iter().chain(&LOOPBACK).map(|name| (*name).to_owned()).collect();
        let mut params = params(names.first().unwrap_or(&"localhost"), all)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![HTTP1.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The same, but offers HTTP/2 first.
pub(super) fn offering_http2(acceptor: &TlsAcceptor) -> TlsAcceptor {
    let mut config = ServerConfig::clone(acceptor.config());
    config.alpn_protocols.insert(0, HTTP2.to_vec());
    TlsAcceptor::from(Arc::new(config))
}

fn params(name: &str, names: Vec<String>) -> io::Result<CertificateParams> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let mut params = CertificateParams::new(names).map_err(invalid)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
