//! What the client needs to dial an exit.

use super::keepers::Keepers;
use super::{Credential, ExitId, Vendor};
use crate::outcome::WireBytes;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// How an exit is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Via {
    /// An HTTP proxy: absolute-form requests for `http://`, CONNECT for `https://`.
    Http,
    /// The same over TLS. The proxy's certificate is checked against its name, and has nothing to do with the origin's.
    Https,
    /// A SOCKS5 proxy that is given addresses: the origin's name is resolved here, as curl does for this scheme. Whoever
    /// sees this machine's look-ups sees every origin; [`Socks5h`](Self::Socks5h) tells nobody but the proxy.
    Socks5,
    /// A SOCKS5 proxy that is given names, which are resolved at the exit.
    Socks5h,
    /// A SOCKS4 proxy: it is given addresses of IPv4, resolved here, and a user id, but no password.
    Socks4,
    /// A SOCKS4a proxy: the same with names, which are resolved at the exit.
    Socks4a,
    /// No proxy: an address of this machine, from which the origin is connected. From [`Exit::local`](super::Exit::local), or
    /// `local://` in a spec, but never in a list. The origin's name is resolved here.
    Local,
}

impl Via {
    /// The scheme of a proxy spec; `local` for an own address.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
            Self::Socks5h => "socks5h",
            Self::Socks4 => "socks4",
            Self::Socks4a => "socks4a",
            Self::Local => "local",
        }
    }

    /// The port of a proxy spec that has a scheme and no port.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 | Self::Socks5h | Self::Socks4 | Self::Socks4a => 1080,
            Self::Local => 0,
        }
    }

    /// Whether it speaks SOCKS.
    #[must_use]
    pub const fn is_socks(self) -> bool {
        matches!(self, Self::Socks5 | Self::Socks5h | Self::Socks4 | Self::Socks4a)
    }

    /// Whether a plain `http://` request is put to the proxy itself, in absolute-form. Otherwise everything goes through a
    /// stream that ends at the origin.
    #[must_use]
    pub const fn forwards(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }
}

/// Who may use a connection again that was made for a lease.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reuse {
    /// Whoever leases the exit.
    Anybody,
    /// Who holds the exit, by the number of the hold.
    Holder(u64),
    Nobody,
}

/// The way out of one request: an exit's address and login, and who may use its connection again. The lease layer puts it
/// into the request's extensions, where [`ExitClient`](crate::client::ExitClient) and any service of your own find it. A
/// clone is a reference count.
#[derive(Clone)]
pub struct Route {
    to: Arc<Inner>,
    reuse: Reuse,
    /// The request is not to be sent twice, whatever its method.
    once: bool,
    /// The exit is held for the one who asks.
    held: bool,
    bill: Bill,
}

/// Takes what an attempt has cost on the wire, from a client for whose answer nobody waits any more.
pub(crate) trait Meter: Send + Sync {
    /// More bytes.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "the client has bills"))]
    fn add(&self, wire: WireBytes);
}

/// Whom a client tells what a given-up attempt has cost.
pub(crate) type Bill = Option<Arc<dyn Meter>>;

struct Inner {
    way: Way,
    keepers: Keepers,
}

/// A way as it is kept beside a connection: without what belongs to one attempt.
#[cfg(feature = "client")]
#[derive(Clone)]
pub(crate) struct KeptWay(Arc<Inner>);

#[cfg(feature = "client")]
impl KeptWay {
    /// Whether the route goes this very way, with this login.
    pub(crate) fn is(&self, route: &Route) -> bool {
        Arc::ptr_eq(&self.0, &route.to) || self.0.way == route.to.way
    }

    pub(crate) fn evictions(&self) -> u32 {
        self.0.keepers.evictions()
    }
}

/// What is dialled.
#[derive(Clone, PartialEq, Eq)]
struct Way {
    exit: ExitId,
    via: Via,
    host: Box<str>,
    port: u16,
    credential: Option<Credential>,
    vendor: Option<Vendor>,
    tls: Tls,
}

#[cfg(feature = "client")]
type Tls = Option<super::ProxyTls>;
#[cfg(not(feature = "client"))]
type Tls = ();

impl Route {
    pub(super) fn new(
        exit: ExitId,
        via: Via,
        host: &str,
        port: u16,
        credential: Option<Credential>,
        reuse: Reuse,
    ) -> Self {
        let (vendor, tls) = (Vendor::of_host(host), Tls::default());
        Self::to(Way { exit, via, host: host.into(), port, credential, vendor, tls }, reuse)
    }

    fn to(way: Way, reuse: Reuse) -> Self {
        Self {
            to: Arc::new(Inner { way, keepers: Keepers::default() }),
            reuse,
            once: false,
            held: false,
            bill: None,
        }
    }

    /// The same way, with other TLS to the proxy.
    #[cfg(feature = "client")]
    pub(super) fn with_tls(&self, tls: Option<super::ProxyTls>) -> Self {
        Self::to(Way { tls, ..self.to.way.clone() }, self.reuse)
    }

    /// How TLS to the proxy works, if that was said.
    #[cfg(feature = "client")]
    pub(crate) fn tls(&self) -> Option<&super::ProxyTls> {
        self.to.way.tls.as_ref()
    }

    /// The same way by another port, which is another exit's. The login is shared.
    pub(super) fn at_port(&self, exit: ExitId, port: u16) -> Self {
        Self::to(Way { exit, port, ..self.to.way.clone() }, self.reuse)
    }

    /// The same way, with proxies that are known to be somebody's.
    pub(super) fn with_vendor(&self, vendor: Vendor) -> Self {
        Self::to(Way { vendor: Some(vendor), ..self.to.way.clone() }, self.reuse)
    }

    /// Whose proxy it is, if that is known.
    #[must_use]
    pub fn vendor(&self) -> Option<Vendor> {
        self.to.way.vendor
    }

    /// Closes the connections that clients keep for this exit, and lets none that is in use be kept: for an exit that is
    /// given up. The scheduler does so for sessions whose token will not come back, and for exits that are taken out.
    pub fn evict(&self) {
        self.to.keepers.evict(self.exit());
    }

    /// Who keeps connections for it, and how often they were evicted.
    #[cfg(feature = "client")]
    pub(crate) fn keepers(&self) -> &Keepers {
        &self.to.keepers
    }

    /// The exit this leads through.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.to.way.exit
    }

    /// The proxy protocol.
    #[must_use]
    pub fn via(&self) -> Via {
        self.to.way.via
    }

    /// The proxy's host: a name in lower case, or an IP literal without brackets. Of an own address, that address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.to.way.host
    }

    /// The proxy's port; 0 for an own address, whose ports are the system's to choose.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.to.way.port
    }

    /// The own address to connect from, if this is one.
    #[must_use]
    pub fn local(&self) -> Option<IpAddr> {
        (self.via() == Via::Local).then(|| self.host().parse().ok()).flatten()
    }

    /// The proxy's URL without its login, as clients of other crates take it.
    ///
    /// ```
    /// let exit = tower_egress::Exit::parse("http://user:secret@[2001:db8::7]:8080")?;
    /// assert_eq!(exit.route().url(), "http://[2001:db8::7]:8080");
    /// # Ok::<(), tower_egress::ConfigError>(())
    /// ```
    #[must_use]
    pub fn url(&self) -> String {
        let (scheme, host, port) = (self.via().scheme(), self.host(), self.port());
        // No name has a colon in it.
        if host.contains(':') {
            format!("{scheme}://[{host}]:{port}")
        } else {
            format!("{scheme}://{host}:{port}")
        }
    }

    /// Whether the connection is for one request alone: each connection leaves through another address, or the request
    /// [asked for it](crate::LeaseRequest::freshness).
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.reuse == Reuse::Nobody
    }

    /// Who may use the connection again.
    #[cfg(any(feature = "client", test))]
    pub(crate) const fn reuse(&self) -> Reuse {
        self.reuse
    }

    /// Whether the request must not be sent twice, whatever its method: it is not
    /// [repeatable](crate::LeaseRequest::repeatable). A client that repeats what met a dead connection heeds it.
    #[must_use]
    pub const fn is_once(&self) -> bool {
        self.once
    }

    /// The same way out, for an attempt whose costs go there.
    pub(crate) fn billed_to(self, meter: Arc<dyn Meter>) -> Self {
        Self { bill: Some(meter), ..self }
    }

    /// Leaves the way alone, which may be kept for longer than its attempt lasts.
    pub(crate) fn take_bill(&mut self) -> Bill {
        self.bill.take()
    }

    /// For a request that must not be sent twice, or may.
    pub(crate) fn set_once(&mut self, once: bool) {
        self.once = once;
    }

    /// The number of the hold that may use the connection again; 0 for anybody, or nobody.
    #[cfg(feature = "client")]
    pub(crate) const fn holder(&self) -> u64 {
        match self.reuse {
            Reuse::Holder(number) => number,
            Reuse::Anybody | Reuse::Nobody => 0,
        }
    }

    /// The way, to be kept beside a connection.
    #[cfg(feature = "client")]
    pub(crate) fn way(&self) -> KeptWay {
        KeptWay(Arc::clone(&self.to))
    }

    /// Whether the exit is held: who comes again will come through it.
    #[cfg(feature = "client")]
    pub(crate) const fn is_held(&self) -> bool {
        self.held
    }

    pub(crate) fn set_held(&mut self, held: bool) {
        self.held = held;
    }

    /// Over a connection that only these may use again. What nobody may use again stays so.
    pub(crate) fn reuse_by(&mut self, reuse: Reuse) {
        self.reuse = if self.is_fresh() { Reuse::Nobody } else { reuse };
    }

    /// The login, if the exit has one.
    #[must_use]
    pub fn credential(&self) -> Option<&Credential> {
        self.to.way.credential.as_ref()
    }
}

/// The same exit, dialled in the same way with the same login, for those who may share a connection.
impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.reuse == other.reuse && (Arc::ptr_eq(&self.to, &other.to) || self.to.way == other.to.way)
    }
}

impl Eq for Route {}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Way { exit, credential, .. } = &self.to.way;
        let url = self.url();
        let address = format_args!("{url}");
        f.debug_struct("Route")
            .field("exit", exit)
            .field("address", &address)
            .field("credential", credential)
            .finish_non_exhaustive()
    }
}
