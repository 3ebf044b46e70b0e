//! Configuring an [`ExitClient`].

use super::ExitClient;
use super::dial::{Dialer, Limits, OriginTls, Resolve, Resolver};
use super::kept::{Flights, Idle};
use super::service::Shared;
use crate::error::ConfigError;
use crate::exit::ProxyTls;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Configures an [`ExitClient`]. From [`ExitClient::builder`].
#[derive(Clone, Debug)]
pub struct ExitClientBuilder {
    idle_timeout: Duration,
    max_idle: usize,
    limits: Limits,
    resolver: Option<Resolver>,
    roots_pem: Option<Vec<u8>>,
    proxy_tls: Option<ProxyTls>,
    tunnel_http: bool,
    http2: bool,
}

impl ExitClientBuilder {
    pub(super) const fn new() -> Self {
        Self {
            idle_timeout: Duration::from_secs(15),
            max_idle: 1000,
            limits: Limits {
                connect: Duration::from_secs(10),
                tunnel: Duration::from_secs(12),
                tls: Duration::from_secs(10),
                establish: Duration::from_secs(15),
            },
            resolver: None,
            roots_pem: None,
            proxy_tls: None,
            tunnel_http: false,
            http2: true,
        }
    }

    /// How long a connection may idle before it is closed. Default 15 s; zero keeps none.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Most idle connections over all exits and origins; the one that has idled longest goes first. Default 1000; zero
    /// keeps none.
    #[must_use]
    pub const fn max_idle(mut self, connections: usize) -> Self {
        self.max_idle = connections;
        self
    }

    /// Most time for the look-up of an exit's name, and for the TCP connect over all its addresses. Default 10 s; not zero.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// Most time for TLS to an `https://` exit, and for its answer to CONNECT or SOCKS, however many bytes arrive
    /// meanwhile. Default 12 s; not zero. Where a proxy has a limit of its own for connecting, be the more patient one: else
    /// its reason is lost.
    #[must_use]
    pub const fn tunnel_timeout(mut self, timeout: Duration) -> Self {
        self.limits.tunnel = timeout;
        self
    }

    /// Most time for the TLS handshake with the origin. Default 10 s; not zero.
    #[must_use]
    pub const fn tls_timeout(mut self, timeout: Duration) -> Self {
        self.limits.tls = timeout;
        self
    }

    /// Most time to establish a connection: name, TCP, tunnel and TLS together, whatever each of them may take.
    /// Default 15 s; not zero. The answer itself has as long as the layers around the client give it.
    #[must_use]
    pub const fn establish_timeout(mut self, timeout: Duration) -> Self {
        self.limits.establish = timeout;
        self
    }

    /// Looks names up: those of exits, and those of origins for `socks5://`, `socks4://` and own addresses alone. Default: the system's
    /// resolver.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Some(Resolver::new(resolver));
        self
    }

    /// Sends `http://` requests through a tunnel, too (CONNECT to port 80), instead of putting them to the HTTP proxy. Then
    /// an answer is the origin's own: in absolute-form a 502, 503 or 504 may be the proxy's word, and nobody can tell.
    /// Default: no, since many proxies refuse CONNECT to other ports than 443.
    #[must_use]
    pub const fn tunnel_http(mut self, tunnel: bool) -> Self {
        self.tunnel_http = tunnel;
        self
    }

    /// Offers HTTP/2 to `https://` origins. Default: yes. Proxies are spoken to in HTTP/1.1.
    #[must_use]
    pub const fn http2(mut self, offered: bool) -> Self {
        self.http2 = offered;
        self
    }

    /// How TLS works to `https://` exits that [say nothing else](crate::exit::ProxyTls). Default: the platform's roots.
    #[must_use]
    pub fn proxy_tls(mut self, tls: &ProxyTls) -> Self {
        self.proxy_tls = Some(tls.clone());
        self
    }

    /// Trusts these roots for origins, certificates in PEM, in place of the platform's.
    #[must_use]
    pub fn roots_pem(mut self, pem: &[u8]) -> Self {
        self.roots_pem = Some(pem.to_vec());
        self
    }

    /// Builds the client. As with [`ExitClient::new`], a platform without roots shows at the first https request.
    ///
    /// # Errors
    /// A timeout that must not be zero is, or the roots are not certificates.
    pub fn build(self) -> Result<ExitClient, ConfigError> {
        let tls = match &self.roots_pem {
            Some(pem) => OriginTls::with_roots(pem, self.http2)?,
            None => OriginTls::platform(self.http2),
        };
        self.check_timeouts()?;
        Ok(self.with(tls))
    }

    /// What its setters cannot refuse.
    #[cfg(feature = "config")]
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let Some(pem) = &self.roots_pem {
            OriginTls::with_roots(pem, self.http2)?;
        }
        self.check_timeouts()
    }

    fn check_timeouts(&self) -> Result<(), ConfigError> {
        let Limits { connect, tunnel, tls, establish } = self.limits;
        for (field, timeout) in [
            ("connect_timeout", connect),
            ("tunnel_timeout", tunnel),
            ("tls_timeout", tls),
            ("establish_timeout", establish),
        ] {
            if timeout.is_zero() {
                return Err(ConfigError::new(field, "is zero", "give it some seconds"));
            }
        }
        Ok(())
    }

    /// The client with the platform's roots.
    pub(super) fn with_platform(self) -> ExitClient {
        let tls = OriginTls::platform(self.http2);
        self.with(tls)
    }

    fn with(self, origin_tls: OriginTls) -> ExitClient {
        let Self { idle_timeout, max_idle, limits, tunnel_http, http2, .. } = self;
        let resolver = self.resolver.unwrap_or_else(Resolver::system);
        let proxy_tls = self.proxy_tls.map_or_else(OnceLock::new, |tls| OnceLock::from(Some(tls)));
        let dialer = Dialer { limits, resolver, origin_tls, proxy_tls, tunnel_http };
        let idle = Arc::new(Idle::new(idle_timeout, max_idle));
        ExitClient(Arc::new(Shared { dialer, idle, flights: Flights::default(), http2 }))
    }
}
