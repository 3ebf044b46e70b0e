//! TLS to the origin. A session is resumed by who holds an exit, through that exit, and by those alone who may share a
//! connection: a ticket that is shown through two exits tells the origin that they are one client.

use super::tls_failed;
use crate::client::watched::Stream;
use crate::error::ConfigError;
use crate::exit::{ExitId, Reuse, Route, roots, versions};
use crate::outcome::{Failure, Phase, Seen};
use parking_lot::Mutex;
use rustls::client::{Resumption, WantsClientCert};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConfigBuilder};
use rustls_platform_verifier::BuilderVerifierExt;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Most exits whose sessions are kept; one more forgets those kept first, whose next handshakes are full ones.
const STORES: usize = 256;
/// Most origins whose sessions are kept for one exit.
const SESSIONS: usize = 16;

/// Who may see a session again.
type Sharer = (ExitId, Reuse);

/// Handshakes with origins, or says why the platform's roots could not be had.
pub(in crate::client) struct OriginTls {
    /// Resumes nothing.
    config: Result<Arc<ClientConfig>, rustls::Error>,
    stores: Mutex<Stores>,
}

#[derive(Default)]
struct Stores {
    configs: HashMap<Sharer, Arc<ClientConfig>>,
    /// In the order in which they were made.
    order: VecDeque<Sharer>,
}

impl OriginTls {
    /// Trusts what the platform trusts. A platform without roots is told of at the first handshake: plain http needs none.
    pub(in crate::client) fn platform(http2: bool) -> Self {
        Self::of(versions().and_then(BuilderVerifierExt::with_platform_verifier), http2)
    }

    /// Trusts the given roots alone.
    pub(in crate::client) fn with_roots(pem: &[u8], http2: bool) -> Result<Self, ConfigError> {
        let roots = roots(pem)?;
        Ok(Self::of(versions().map(|tls| tls.with_root_certificates(roots)), http2))
    }

    fn of(
        trusting: Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error>,
        http2: bool,
    ) -> Self {
        let config = trusting.map(|tls| {
            let mut config = tls.with_no_client_auth();
            let offered: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
            config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
            config.resumption = Resumption::disabled();
            Arc::new(config)
        });
        Self { config, stores: Mutex::default() }
    }

    /// Shakes hands with the origin at the other end of `io`.
    pub(super) async fn handshake(
        &self,
        route: &Route,
        name: ServerName<'static>,
        io: Stream,
    ) -> Result<TlsStream<Stream>, Failure> {
        let connector = TlsConnector::from(self.config(route)?);
        connector.connect(name, io).await.map_err(|cause| tls_failed(Phase::OriginTls, cause))
    }

    /// The reason why no handshake can work, whatever the exit.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.base().map(drop)
    }

    fn base(&self) -> Result<&Arc<ClientConfig>, Failure> {
        self.config.as_ref().map_err(|cause| {
            Failure::new(Phase::OriginTls, Seen::Never).blameless(true).because(cause.clone())
        })
    }

    fn config(&self, route: &Route) -> Result<Arc<ClientConfig>, Failure> {
        let base = self.base()?;
        let sharer = (route.exit(), route.reuse());
        if route.is_fresh() || !route.is_held() {
            return Ok(Arc::clone(base));
        }
        let mut stores = self.stores.lock();
        if let Some(config) = stores.configs.get(&sharer) {
            return Ok(Arc::clone(config));
        }
        if stores.order.len() >= STORES {
            let oldest = stores.order.pop_front();
            oldest.and_then(|oldest| stores.configs.remove(&oldest));
        }
        let mut config = ClientConfig::clone(base);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        let config = Arc::new(config);
        stores.order.push_back(sharer);
        stores.configs.insert(sharer, Arc::clone(&config));
        Ok(config)
    }

    /// Forgets the sessions of an exit.
    pub(in crate::client) fn forget(&self, exit: ExitId) {
        let mut stores = self.stores.lock();
        stores.order.retain(|(of, _)| *of != exit);
        stores.configs.retain(|(of, _), _| *of != exit);
    }
}

#[cfg(test)]
mod tests {
    use super::{OriginTls, STORES};
    use crate::exit::Exit;
    use crate::outcome::{Phase, Seen};
    use std::error::Error as _;
    use std::sync::Arc;

    #[test]
    fn a_platform_without_roots_shows_when_tls_is_needed() {
        let none = OriginTls::of(Err(rustls::Error::General("no roots here".to_owned())), true);
        let failure = none.check().expect_err("there are no roots");
        assert_eq!((failure.phase(), failure.seen()), (Phase::OriginTls, Seen::Never));
        assert!(failure.is_blameless(), "the machine has no roots");
        assert!(failure.source().is_some_and(|cause| cause.to_string().contains("no roots here")));
    }

    #[test]
    fn sessions_are_kept_for_a_bounded_number_of_exits() {
        let roots = rustls::RootCertStore::empty();
        let tls = OriginTls::of(super::versions().map(|tls| tls.with_root_certificates(roots)), true);
        let route = |number: usize| {
            let exit = Exit::parse(&format!("http://u{number}:pw@127.0.0.1:1")).unwrap();
            let mut route = exit.route().clone();
            route.set_held(true);
            route
        };
        let config = |number| tls.config(&route(number)).unwrap_or_else(|_| unreachable!());
        let (first, second) = (config(0), config(1));
        assert!(Arc::ptr_eq(&first, &config(0)) && !Arc::ptr_eq(&first, &second));
        (2..=STORES).for_each(|number| drop(config(number)));
        assert!(!Arc::ptr_eq(&first, &config(0)), "forgotten");
        tls.forget(route(STORES).exit());
        assert_eq!(tls.stores.lock().configs.len(), STORES - 1);
        assert_eq!(tls.stores.lock().order.len(), STORES - 1);
    }
}
