//! A TLS client that trusts one lab.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// Trusts the lab's root and nothing else; offers no protocol.
pub(crate) fn trusting(ca_pem: &str) -> TlsConnector {
    offering(ca_pem, &[])
}

/// The same, with these protocols by ALPN.
pub(crate) fn offering(ca_pem: &str, alpn: &[&str]) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}
