//! Certificates of one test, and a proxy that is spoken to over TLS.

use super::{Event, Peer, Proxy};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) roots: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        Self { roots: issuer.pem(), issuer }
    }

    /// A certificate for a name or an address, and its key.
    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        (leaf, key)
    }

    /// The same in PEM.
    pub(crate) fn issue_pem(&self, name: &str) -> (String, String) {
        let (leaf, key) = self.issue(name);
        (leaf.pem(), key.serialize_pem())
    }

    /// A server of this name that asks for no certificate.
    pub(crate) fn server(&self, name: &str) -> ServerConfig {
        self.server_asking(name, None)
    }

    /// A server that lets in only whom another authority knows.
    pub(crate) fn server_asking(&self, name: &str, clients: Option<&Self>) -> ServerConfig {
        let (leaf, key) = self.issue(name);
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.issuer.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        config.with_single_cert(vec![leaf.der().clone()], key).unwrap()
    }
}

/// What the first message of a TLS client shows to anybody on the way.
#[derive(Debug, PartialEq)]
pub(crate) struct Hello {
    pub(crate) name: Option<String>,
    pub(crate) protocols: Vec<Vec<u8>>,
}

impl Proxy {
    /// A proxy over TLS: each connection runs its script inside.
    pub(crate) async fn over_tls<F, S>(config: ServerConfig, script: F) -> Self
    where
        F: Fn(Peer<TlsStream<TcpStream>>) -> S + Clone + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let config = Arc::new(config);
        Self::start(move |peer| {
            let (config, script) = (Arc::clone(&config), script.clone());
            async move {
                if let Some(inside) = peer.greeted(config).await {
                    script(inside).await;
                }
            }
        })
        .await
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Peer<T> {
    /// Shakes hands, and tells of the greeting.
    pub(crate) async fn greeted(self, config: Arc<ServerConfig>) -> Option<Peer<TlsStream<T>>> {
        let Self { io, number, tap, .. } = self;
        let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), io).await.ok()?;
        let hello = start.client_hello();
        let protocols = hello.alpn().into_iter().flatten().map(<[u8]>::to_vec).collect();
        let _ = tap.send(Event::Hello(Hello { name: hello.server_name().map(str::to_owned), protocols }));
        match start.into_stream(config).into_fallible().await {
            Ok(io) => Some(Peer { io, number, tap, read: Vec::new() }),
            Err((_, mut io)) => {
                // Whoever is refused reads why before the socket goes.
                while matches!(io.read(&mut [0; 1024]).await, Ok(1..)) {}
                None
            }
        }
    }
}
