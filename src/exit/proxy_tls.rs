//! TLS to an `https://` proxy: whom to trust there, and as whom.

use crate::error::ConfigError;
use rustls::client::{Resumption, WantsClientCert};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::fmt;
use std::sync::Arc;

/// TLS to `https://` proxies, for the exits of one pool: [`ExitList::proxy_tls`](super::ExitList::proxy_tls),
/// [`Gateway::proxy_tls`](super::Gateway::proxy_tls), [`Exit::proxy_tls`](super::Exit::proxy_tls), or
/// [`ExitClientBuilder::proxy_tls`](crate::client::ExitClientBuilder::proxy_tls) for all that say nothing else. Nothing of
/// it is shown to origins, whose TLS is another. A clone is a reference count.
///
/// By default the platform's roots are trusted, the proxy's name is the one in its spec, no client certificate is offered,
/// and no protocol (ALPN). Sessions are not resumed.
///
/// ```
/// use tower_egress::exit::{ExitList, ProxyTls};
///
/// let tls = ProxyTls::builder().server_name("proxy.example").build()?;
/// let exits = ExitList::parse("https://user:secret@203.0.113.7:8443")?.proxy_tls(&tls);
/// # let _ = exits;
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct ProxyTls(Arc<Inner>);

struct Inner {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl ProxyTls {
    /// Configures TLS to proxies.
    pub const fn builder() -> ProxyTlsBuilder {
        ProxyTlsBuilder { roots: None, identity: None, name: None }
    }

    pub(crate) fn config(&self) -> &Arc<ClientConfig> {
        &self.0.config
    }

    /// The name that the proxy's certificate must have, if it is not the one in its spec.
    pub(crate) fn name(&self) -> Option<&ServerName<'static>> {
        self.0.name.as_ref()
    }
}

/// The very same one: two that were built apart are not compared.
impl PartialEq for ProxyTls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProxyTls {}

impl fmt::Debug for ProxyTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyTls").field("server_name", &self.0.name).finish_non_exhaustive()
    }
}

/// Configures [`ProxyTls`]. From [`ProxyTls::builder`].
#[must_use]
pub struct ProxyTlsBuilder {
    roots: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
    name: Option<String>,
}

impl ProxyTlsBuilder {
    /// Trusts these roots, certificates in PEM, in place of the platform's.
    pub fn roots_pem(mut self, pem: &[u8]) -> Self {
        self.roots = Some(pem.to_vec());
        self
    }

    /// Offers a client certificate: its chain in PEM, the leaf first, and its key in PEM (PKCS #8, PKCS #1 or SEC 1).
    pub fn identity_pem(mut self, chain: &[u8], key: &[u8]) -> Self {
        self.identity = Some((chain.to_vec(), key.to_vec()));
        self
    }

    /// Expects this name in the proxy's certificate, and sends it as SNI, in place of the host in the spec: for a proxy that
    /// is given by its address.
    pub fn server_name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Builds it.
    ///
    /// # Errors
    /// Roots, chain or key are not PEM of that kind or do not fit each other; the name is none; or the platform has no
    /// roots and none were given. No message repeats any of it.
    pub fn build(self) -> Result<ProxyTls, ConfigError> {
        let name = self.name.map(ServerName::try_from).transpose();
        let name =
            name.map_err(|_| ConfigError::new("server_name", "is no name", "give a DNS name or an address"))?;
        let given = self.roots.as_deref().map(roots).transpose()?;
        let trusting = versions().and_then(|tls| match given {
            Some(roots) => Ok(tls.with_root_certificates(roots)),
            None => tls.with_platform_verifier(),
        });
        let trusting = trusting.map_err(|_| {
            ConfigError::new(
                "roots_pem",
                "is missing, and the platform has no roots",
                "give the proxy's root",
            )
        })?;
        let mut config = match &self.identity {
            Some((chain, key)) => authenticated(trusting, chain, key)?,
            None => trusting.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        Ok(ProxyTls(Arc::new(Inner { config: Arc::new(config), name })))
    }
}

impl fmt::Debug for ProxyTlsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyTlsBuilder").field("server_name", &self.name).finish_non_exhaustive()
    }
}

fn authenticated(
    trusting: ConfigBuilder<ClientConfig, WantsClientCert>,
    chain: &[u8],
    key: &[u8],
) -> Result<ClientConfig, ConfigError> {
    let bad = |what: &'static str| ConfigError::new("identity_pem", what, "give a chain and its key in PEM");
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(|_| bad("has a chain that is not PEM"))?;
    if chain.is_empty() {
        return Err(bad("has a chain without a certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| bad("has no private key"))?;
    trusting.with_client_auth_cert(chain, key).map_err(|_| bad("has a key that is not its certificate's"))
}

/// The roots in a PEM file.
pub(crate) fn roots(pem: &[u8]) -> Result<RootCertStore, ConfigError> {
    let bad = |what: &'static str| ConfigError::new("roots_pem", what, "give certificates in PEM");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| bad("is not PEM"))?;
        roots.add(certificate).map_err(|_| bad("holds a certificate that cannot be a root"))?;
    }
    if roots.is_empty() {
        return Err(bad("holds no certificate"));
    }
    Ok(roots)
}

/// The provider is named: a process-wide default may be missing, or another's.
pub(crate) fn versions() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}
