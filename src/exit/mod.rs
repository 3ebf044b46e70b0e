//! Exits: the ways out. An [`Exit`] is one egress identity, a gateway together with the credential rendered for it, never
//! a host and port alone.
//!
//! ```
//! use tower_egress::exit::{Exit, ExitList};
//!
//! let exit = Exit::parse("http://user:secret@gw.example:7000")?;
//! assert_eq!((exit.route().host(), exit.route().port()), ("gw.example", 7000));
//! assert!(!format!("{exit:?}").contains("secret"), "secrets never print");
//!
//! let list = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080:user:pass # Frankfurt\n")?;
//! assert_eq!(list.len(), 2);
//! # Ok::<(), tower_egress::ConfigError>(())
//! ```

pub mod catalog;
mod country;
mod credential;
mod gateway;
mod keepers;
mod list;
mod pool;
#[cfg(feature = "client")]
mod proxy_tls;
mod route;
mod spec;
mod template;
#[cfg(test)]
mod tests;
mod token;
mod vendor;

pub use credential::Credential;
pub use gateway::Gateway;
#[cfg_attr(not(feature = "client"), expect(unused_imports, reason = "the client keeps connections"))]
pub(crate) use keepers::Keeper;
pub use list::{ExitList, Exits};
pub(crate) use pool::Terms;
pub use pool::{Pool, Source};
#[cfg(feature = "client")]
pub use proxy_tls::{ProxyTls, ProxyTlsBuilder};
#[cfg(feature = "client")]
pub(crate) use proxy_tls::{roots, versions};
#[cfg_attr(not(feature = "client"), expect(unused_imports, reason = "the client has bills"))]
pub(crate) use route::Bill;
#[cfg(feature = "client")]
pub(crate) use route::KeptWay;
pub(crate) use route::{Meter, Reuse};
pub use route::{Route, Via};
pub(crate) use token::Session;
pub use vendor::Vendor;

use crate::error::ConfigError;
use sha1::{Digest, Sha1};
use std::fmt;
use std::net::IpAddr;

/// The name of an exit: a hash of scheme, gateway and user name.
///
/// The password is left out, so that changing it keeps the exit's history. Equal in every process that is given the same
/// exit, and safe to print: user names of gateways are secrets too, and this does not show them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExitId(u64);

impl ExitId {
    /// The id as a number.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// SHA-1 over the parts with a separator that none of them may hold; its first eight bytes. A session token that stands
    /// in the password is a part too: another token is another exit.
    fn of(via: Via, host: &str, port: u16, user: &str, token: Option<&str>) -> Self {
        let mut sha = Sha1::new();
        for part in [via.scheme(), host, &port.to_string(), user].into_iter().chain(token) {
            sha.update(part.as_bytes());
            sha.update([0]);
        }
        let digest: [u8; 20] = sha.finalize().into();
        Self(digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }
}

impl fmt::Display for ExitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// As it is printed: what a log or a dashboard says of an exit can be [acted on](crate::scheduler::Operator).
///
/// ```
/// # use tower_egress::{Exit, ExitId};
/// let id = Exit::parse("203.0.113.7:8080")?.id();
/// assert_eq!(id.to_string().parse::<ExitId>()?, id);
/// assert!("203.0.113.7".parse::<ExitId>().is_err());
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
impl std::str::FromStr for ExitId {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u64::from_str_radix(text, 16).ok().filter(|_| hex);
        let cure = "write the 16 digits as they are printed";
        id.map(Self).ok_or_else(|| ConfigError::new("exit id", "is not 16 hexadecimal digits", cure))
    }
}

/// As a string, as it is printed.
#[cfg(feature = "serde")]
impl serde::Serialize for ExitId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for ExitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One egress identity: where to dial and as whom. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Exit {
    route: Route,
    /// Of the list that it was read from; 0 for what was not read.
    line: u32,
}

/// Where it was read does not matter.
impl PartialEq for Exit {
    fn eq(&self, other: &Self) -> bool {
        self.route == other.route
    }
}

impl Eq for Exit {}

impl Exit {
    /// Reads one proxy spec.
    ///
    /// Understood: `scheme://[user:password@]host[:port]`, `host:port`, `host:port:user:password`,
    /// `user:password:host:port` where only that reading has a dotted host, and `user:password@host:port`; names, IPv4, and
    /// IPv6 in brackets. The schemes are `http`, `https`, `socks5` (names are resolved here) and `socks5h` (names are
    /// resolved at the exit), and `socks4` and `socks4a` likewise, with the ports 80, 443 and 1080. Without a scheme it is http and the port must be given. In a
    /// form with `@`, which is split at the last one, both parts of the login are percent-decoded; the colon list is taken
    /// as it stands. `local://192.0.2.7` is an own address, as by [`local`](Self::local): no proxy.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong and how to write it. It never repeats the spec, which holds the password. What
    /// can be read in two ways is refused: the wrong one sends a password to DNS as a host's name.
    pub fn parse(spec: &str) -> Result<Self, ConfigError> {
        spec::exit(spec)
    }

    /// An address of this machine as an exit: requests leave from it without a proxy. The only way not to use one.
    /// An unspecified one (`0.0.0.0`, `::`) is a dead exit: it would leave the choice to the system.
    ///
    /// ```
    /// use tower_egress::{Exit, ExitList, Scheduler};
    ///
    /// let own = ["192.0.2.7", "192.0.2.8"].map(|ip| Exit::local(ip.parse().expect("an address")));
    /// let scheduler = Scheduler::builder().exits(ExitList::from_iter(own)).build()?;
    /// # Ok::<(), tower_egress::ConfigError>(())
    /// ```
    #[must_use]
    pub fn local(ip: IpAddr) -> Self {
        Self::new(Via::Local, &ip.to_string(), 0, None)
    }

    fn new(via: Via, host: &str, port: u16, credential: Option<Credential>) -> Self {
        let id = ExitId::of(via, host, port, credential.as_ref().map_or("", Credential::user), None);
        Self { route: Route::new(id, via, host, port, credential, Reuse::Anybody), line: 0 }
    }

    /// One session of a gateway; `fresh` if each connection is another exit.
    fn session(
        via: Via,
        host: &str,
        port: u16,
        credential: Option<Credential>,
        token: Option<&str>,
        fresh: bool,
    ) -> Self {
        let id = ExitId::of(via, host, port, credential.as_ref().map_or("", Credential::user), token);
        let reuse = if fresh { Reuse::Nobody } else { Reuse::Anybody };
        Self { route: Route::new(id, via, host, port, credential, reuse), line: 0 }
    }

    /// The same proxy and login at another port, which is another exit.
    fn at_port(&self, port: u16) -> Self {
        if port == self.route.port() {
            return self.clone();
        }
        Self { route: self.route.at_port(self.id_at(port), port), line: self.line }
    }

    /// The name that it would have at another port; its own, if the port is its own.
    fn id_at(&self, port: u16) -> ExitId {
        let route = &self.route;
        ExitId::of(route.via(), route.host(), port, route.credential().map_or("", Credential::user), None)
    }

    /// Sets how TLS to the proxy works, if it is an `https://` one.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn proxy_tls(self, tls: &ProxyTls) -> Self {
        Self { route: self.route.with_tls(Some(tls.clone())), ..self }
    }

    /// Says whose proxy it is, where its host does not.
    #[must_use]
    pub fn vendor(self, vendor: Vendor) -> Self {
        Self { route: self.route.with_vendor(vendor), ..self }
    }

    /// The line of the list that it was read from, in the list's own text; `None` for what was not read from one.
    #[must_use]
    pub const fn line(&self) -> Option<u32> {
        if self.line > 0 { Some(self.line) } else { None }
    }

    /// As it stands in another list.
    pub(crate) const fn stands_as(&mut self, other: &Self) {
        self.line = other.line;
    }

    /// The exit's name.
    #[must_use]
    pub fn id(&self) -> ExitId {
        self.route.exit()
    }

    /// What a client needs to dial it.
    #[must_use]
    pub const fn route(&self) -> &Route {
        &self.route
    }
}
