//! Proxy programs that lists of exits run on.

use super::signal::Says::{Broke, Busy, Denied, Failed, Fatal, Login, Unreachable};
use super::signal::{On, Signal, code, connect, phrase};
use crate::outcome::AuthReason::Rejected;
use crate::outcome::GatewayScope::Gateway;

/// `X-Squid-Error: ERR_CONNECT_FAIL 111`: a name, and the system's number. As squid 5 to 7 send it.
pub(super) const SQUID: &[Signal] = &[
    code(&["ERR_CACHE_ACCESS_DENIED*"], Login(Rejected)).only(On::PROXY),
    code(&["ERR_ACCESS_DENIED*", "ERR_FORWARDING_DENIED*"], Denied),
    code(&["ERR_DNS_FAIL*"], Failed),
    code(&["ERR_CONNECT_FAIL*", "ERR_SECURE_CONNECT_FAIL*", "ERR_CANNOT_FORWARD*"], Unreachable)
        .before_arrival(),
    // It had reached the site, which may have read the request.
    code(&["ERR_ZERO_SIZE_OBJECT*", "ERR_READ_TIMEOUT*", "ERR_READ_ERROR*", "ERR_WRITE_ERROR*"], Broke)
        .only(On::PLAIN),
    code(&["ERR_ZERO_SIZE_OBJECT*", "ERR_READ_TIMEOUT*", "ERR_READ_ERROR*", "ERR_WRITE_ERROR*"], Unreachable),
    code(&["ERR_INVALID_REQ*", "ERR_INVALID_URL*", "ERR_UNSUP_REQ*", "ERR_UNSUP_HTTPVERSION*"], Fatal),
    code(&["ERR_TOO_BIG*"], Fatal),
];

/// Its `Server` names it. It has one status for all that it cannot reach, and 401 for a wrong password.
pub(super) const TINYPROXY: &[Signal] = &[
    phrase(500, &["Unable to connect*"], Unreachable),
    connect(401, Login(Rejected)).only(On::PROXY),
    connect(403, Denied).only(On::PROXY),
    connect(500, Unreachable).only(On::PROXY),
];

/// One status for all that it cannot reach.
pub(super) const THREE_PROXY: &[Signal] = &[connect(502, Unreachable)];

/// `x-lpm-error`: a Luminati proxy manager of one's own that does not reach its provider.
pub(super) const LUMINATI_MANAGER: &[Signal] = &[code(&["*"], Busy(Gateway)).with(502)];
