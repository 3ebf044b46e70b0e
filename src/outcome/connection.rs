//! What carried an answer.

use super::{Egress, Traffic};

/// What carried an answer. A client puts it into the response's extensions; without it a connection counts as kept, and as one
/// that will be kept.
///
/// Whether it is new is a proof about the login: for a new tunnel the proxy has let it in just now, while a tunnel that was
/// kept outlives its password. A forwarded request carries its login each time and proves it over either.
///
/// ```
/// use tower_egress::outcome::Connection;
///
/// let mut response = http::Response::new("hello");
/// response.extensions_mut().insert(Connection::new().ending(true));
/// ```
#[derive(Clone, Debug)]
pub struct Connection {
    kept: bool,
    ending: bool,
    tunnelled: bool,
    traffic: Option<Traffic>,
    egress: Option<Egress>,
}

impl Connection {
    /// One that was made for this request.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "neither kind is the default one")]
    pub const fn new() -> Self {
        Self { kept: false, ending: false, tunnelled: false, traffic: None, egress: None }
    }

    /// One that was made for an earlier request and kept.
    #[must_use]
    pub const fn kept() -> Self {
        Self { kept: true, ending: false, tunnelled: false, traffic: None, egress: None }
    }

    /// Sets whether nothing is gained by reading the answer to its end: the connection will not be used again, or others
    /// use it beside this answer. A page that nobody wants is not read then.
    #[must_use]
    pub const fn ending(mut self, ending: bool) -> Self {
        self.ending = ending;
        self
    }

    /// Sets whether a plain `http://` request went through a tunnel too, so that the answer is the origin's own and no
    /// proxy's. What cannot be forwarded (`https://`, SOCKS, an own address) counts as tunnelled without it.
    #[must_use]
    pub const fn tunnelled(mut self, tunnelled: bool) -> Self {
        self.tunnelled = tunnelled;
        self
    }

    /// Sets what counts the attempt's bytes on the wire.
    #[must_use]
    pub fn counted_by(mut self, traffic: Traffic) -> Self {
        self.traffic = Some(traffic);
        self
    }

    /// Sets what the proxy has said of its exit when the tunnel was made.
    #[must_use]
    pub fn leaving_from(mut self, egress: Option<Egress>) -> Self {
        self.egress = egress;
        self
    }

    /// What the proxy has said of its exit when the tunnel was made.
    #[must_use]
    pub const fn egress(&self) -> Option<&Egress> {
        self.egress.as_ref()
    }

    /// Whether it was made for an earlier request.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.kept
    }

    /// Whether nothing is gained by reading the answer to its end.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.ending
    }

    /// Whether a plain request went through a tunnel too.
    #[must_use]
    pub const fn is_tunnelled(&self) -> bool {
        self.tunnelled
    }

    /// What counts the attempt's bytes on the wire.
    #[must_use]
    pub const fn traffic(&self) -> Option<&Traffic> {
        self.traffic.as_ref()
    }
}
