//! Services that fetch for their customers: most end TLS themselves, and so speak inside of a tunnel too.

use super::signal::Says::{Blocked, Busy, Denied, Exit, Failed, Fatal, Login, Session, Unreachable};
use super::signal::{Signal, code, connect, proxy, service};
use crate::outcome::AuthReason::{Parameters, Quota, Rejected, Suspended};
use crate::outcome::GatewayScope::{Credential, Exit as OneExit, Gateway, Place, Target};

/// Apify Proxy, and what is built on proxy-chain. It speaks of the proxy behind it.
pub(super) const APIFY: &[Signal] = &[
    proxy(590, Exit),
    proxy(592, Exit),
    proxy(593, Failed),
    proxy(594, Exit).before_arrival(),
    proxy(595, Exit),
    proxy(596, Exit),
    proxy(597, Login(Rejected)),
    proxy(599, Busy(Gateway)),
    connect(504, Exit),
];

pub(super) const NIMBLE: &[Signal] = &[
    // The account or the pipeline, both of the login.
    connect(400, Login(Parameters)),
    connect(402, Login(Quota)),
    connect(403, Denied),
    proxy(407, Login(Rejected)),
    connect(500, Busy(Gateway)),
    connect(502, Exit),
    connect(503, Busy(Gateway)),
    connect(504, Exit),
    connect(522, Busy(Gateway)),
    connect(525, Busy(Place)),
];

/// It repeats by itself what the origin refuses: what it answers in the end is its own, but for 404.
pub(super) const SCRAPER_API: &[Signal] = &[
    service(429, Busy(Credential)),
    service(403, Login(Rejected)),
    service(500, Busy(Target)).maybe_arrived(),
];

/// `x-crawlera-error`, `zyte-error`.
pub(super) const ZYTE: &[Signal] = &[
    code(&["bad_session_id"], Session),
    code(&["user_session_limit", "too_many_conns"], Busy(Credential)),
    // Sent when its own check is down, too.
    code(&["bad_proxy_auth", "bad_auth"], Login(Rejected)),
    code(&["user_suspended"], Login(Suspended)),
    // A header that the plan has not, or that is wrong; an answer that is too large; the client's own end.
    code(&["header_auth", "bad_header", "data_error", "client_conn_closed"], Fatal),
    code(&["nxdomain"], Failed),
    code(&["ehostunreach", "econnrefused"], Unreachable).before_arrival(),
    code(&["econnreset", "socket_closed_remotely", "send_failed"], Unreachable),
    code(&["timeout", "msgtimeout"], Unreachable),
    code(&["noslaves"], Busy(Target)),
    code(&["banned", "slavebanned"], Blocked),
    code(&["serverbusy"], Busy(Gateway)),
    code(&["domain_forbidden"], Denied),
];

/// Without a code, and with a `Retry-After`: the longest delay of the session is reached.
pub(super) const ZYTE_DELAYED: Signal = service(503, Busy(OneExit));
