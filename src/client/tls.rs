//! TLS to the origin. Nothing of one session is ever offered in another: a ticket would tell the origin that two exits are
//! one client.

use crate::error::ConfigError;
use crate::outcome::{Failure, Phase, Seen};
use rustls::client::{Resumption, WantsClientCert};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Handshakes with origins, or says why the platform's roots could not be had.
#[derive(Clone)]
pub(super) struct Tls(Result<TlsConnector, rustls::Error>);

impl Tls {
    /// Trusts what the platform trusts. A platform without roots is told of at the first handshake: plain http needs none.
    pub(super) fn platform() -> Self {
        Self(versions().and_then(BuilderVerifierExt::with_platform_verifier).map(connector))
    }

    /// Trusts the given roots alone.
    pub(super) fn with_roots(pem: &[u8]) -> Result<Self, ConfigError> {
        let bad = |what: &'static str| ConfigError::new("roots_pem", what, "give certificates in PEM");
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| bad("is not PEM"))?;
            roots.add(certificate).map_err(|_| bad("holds a certificate that cannot be a root"))?;
        }
        if roots.is_empty() {
            return Err(bad("holds no certificate"));
        }
        Ok(Self(versions().map(|tls| connector(tls.with_root_certificates(roots)))))
    }

    /// Shakes hands with the origin at the other end of `io`.
    pub(super) async fn handshake<T>(&self, name: ServerName<'static>, io: T) -> Result<TlsStream<T>, Failure>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let failed = Failure::new(Phase::OriginTls, Seen::Never).login_accepted(true);
        match &self.0 {
            Ok(tls) => tls.connect(name, io).await.map_err(|cause| failed.because(cause)),
            Err(cause) => Err(failed.blameless(true).because(cause.clone())),
        }
    }

    /// The reason why no handshake can work, whatever the exit.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.0 {
            Ok(_) => Ok(()),
            Err(cause) => {
                Err(Failure::new(Phase::OriginTls, Seen::Never).blameless(true).because(cause.clone()))
            }
        }
    }
}

/// What is wrong with the origin's certificate, in a word; `None` if something else failed.
pub(super) fn distrust(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let found = match inner {
        Some(inner) => inner.downcast_ref(),
        None => cause.downcast_ref(),
    };
    let Some(rustls::Error::InvalidCertificate(why)) = found else { return None };
    Some(match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired; if it has not, set this machine's clock"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet; if it is, set this machine's clock"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate is for another name"
        }
        CertificateError::Revoked => "the certificate is revoked",
        _ => {
            "the certificate is not trusted; if its authority is your own, give its root to \
             ExitClientBuilder::roots_pem"
        }
    })
}

/// The provider is named: a process-wide default may be missing, or another's.
fn versions() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}

fn connector(tls: ConfigBuilder<ClientConfig, WantsClientCert>) -> TlsConnector {
    let mut config = tls.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Arc::new(config).into()
}

#[cfg(test)]
mod tests {
    use super::Tls;
    use crate::outcome::{Phase, Seen};
    use std::error::Error as _;

    #[test]
    fn a_platform_without_roots_shows_when_tls_is_needed() {
        let none = Tls(Err(rustls::Error::General("no roots here".to_owned())));
        let failure = none.check().expect_err("there are no roots");
        assert_eq!((failure.phase(), failure.seen()), (Phase::OriginTls, Seen::Never));
        assert!(failure.is_blameless(), "the machine has no roots");
        assert!(failure.source().is_some_and(|cause| cause.to_string().contains("no roots here")));
    }
}
