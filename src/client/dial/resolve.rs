//! Names to addresses: of exits, and of origins where the exit takes no names.

use crate::outcome::{Failure, Phase, Seen, machine};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use tokio::net::lookup_host;

/// Most addresses of one name that are tried.
const MOST: usize = 16;

/// The addresses of a name, when they are known.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of names, in the order in which they are to be tried; the first sixteen are.
///
/// It is asked for names of exits, and for names of origins only where the exit's scheme says that they are resolved here
/// (`socks5://`, `socks4://`, an own address). Every other origin's name goes to the exit and to nobody else.
///
/// A closure is one:
///
/// ```
/// use std::net::IpAddr;
/// use tower_egress::ExitClient;
///
/// let pinned = |name: String| async move {
///     match name.as_str() {
///         "gw.example" => Ok(vec![IpAddr::from([203, 0, 113, 7])]),
///         _ => Err(std::io::ErrorKind::NotFound.into()),
///     }
/// };
/// let client = ExitClient::builder().resolver(pinned).build()?;
/// # let _ = client;
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
pub trait Resolve: Send + Sync {
    /// Looks up a name in lower case; never an address. Dropping the future gives the look-up up. It has as long as a
    /// connect has ([`connect_timeout`](crate::client::ExitClientBuilder::connect_timeout)).
    fn resolve(&self, name: String) -> Resolving;
}

impl<F, A> Resolve for F
where
    F: Fn(String) -> A + Send + Sync,
    A: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
{
    fn resolve(&self, name: String) -> Resolving {
        Box::pin(self(name))
    }
}

/// A resolver, the system's unless told otherwise.
#[derive(Clone)]
pub(in crate::client) struct Resolver(Arc<dyn Resolve>);

impl Resolver {
    pub(in crate::client) fn new(resolver: impl Resolve + 'static) -> Self {
        Self(Arc::new(resolver))
    }

    pub(in crate::client) fn system() -> Self {
        Self::new(|name: String| async move {
            Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
        })
    }

    /// The addresses of an exit or an origin; one at least.
    ///
    /// A resolver that is down cannot be told from a name that does not exist: std keeps of getaddrinfo's answer only its
    /// text, which differs by system. So it counts against the exit, unless the look-up failed for want of a descriptor or
    /// memory.
    pub(super) async fn addresses(
        &self,
        phase: Phase,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        // The system names no name, and of many exits one is misspelt.
        let failed = |cause: io::Error| {
            let named = io::Error::new(cause.kind(), format!("{host}: {cause}"));
            Failure::new(phase, Seen::Never).blameless(machine::failed(&cause)).because(named)
        };
        let mut found = self.0.resolve(host.to_owned()).await.map_err(failed)?;
        if found.is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        found.truncate(MOST);
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
