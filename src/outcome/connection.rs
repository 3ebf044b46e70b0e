//! What carried an answer.

/// Whether an answer came over a connection that was made for it. A client puts this into the response's extensions;
/// without it a connection counts as kept.
///
/// It is a proof about the login: for a new tunnel the proxy has let it in just now, while a tunnel that was kept outlives
/// its password. A forwarded request carries its login each time and proves it over either.
///
/// ```
/// use tower_egress::outcome::Connection;
///
/// let mut response = http::Response::new("hello");
/// response.extensions_mut().insert(Connection::New);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::exhaustive_enums, reason = "two-valued by nature")]
pub enum Connection {
    /// Made for this request.
    New,
    /// Made for an earlier one and kept.
    Kept,
}
