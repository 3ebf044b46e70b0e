//! Configuring an [`ExitClient`].

use super::ExitClient;
use super::dial::Dialer;
use super::idle::Idle;
use super::tls::Tls;
use crate::error::ConfigError;
use std::time::Duration;

/// Configures an [`ExitClient`]. From [`ExitClient::builder`].
#[derive(Clone, Debug)]
pub struct ExitClientBuilder {
    idle_timeout: Duration,
    max_idle: usize,
    connect_timeout: Duration,
    establish_timeout: Duration,
    roots_pem: Option<Vec<u8>>,
}

impl ExitClientBuilder {
    pub(super) const fn new() -> Self {
        Self {
            idle_timeout: Duration::from_secs(15),
            max_idle: 1000,
            connect_timeout: Duration::from_secs(10),
            establish_timeout: Duration::from_secs(15),
            roots_pem: None,
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

    /// Most time for the TCP connect to an exit, over all addresses of its name. Default 10 s; not zero.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Most time to establish a connection: name, TCP, tunnel and TLS together, however many bytes arrive meanwhile.
    /// Default 15 s; not zero. The answer itself has as long as the layers around the client give it.
    #[must_use]
    pub const fn establish_timeout(mut self, timeout: Duration) -> Self {
        self.establish_timeout = timeout;
        self
    }

    /// Trusts these roots, certificates in PEM, in place of the platform's.
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
            Some(pem) => Tls::with_roots(pem)?,
            None => Tls::platform(),
        };
        for (field, timeout) in
            [("connect_timeout", self.connect_timeout), ("establish_timeout", self.establish_timeout)]
        {
            if timeout.is_zero() {
                return Err(ConfigError::new(field, "is zero", "give it some seconds"));
            }
        }
        Ok(self.with(tls))
    }

    pub(super) fn with(self, tls: Tls) -> ExitClient {
        let Self { connect_timeout, establish_timeout, .. } = self;
        let dialer = Dialer { connect_timeout, establish_timeout, tls };
        ExitClient::of(dialer, Idle::new(self.idle_timeout, self.max_idle))
    }
}
