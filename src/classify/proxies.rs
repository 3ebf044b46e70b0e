//! What two proxies say of an answer that is their own. Their statuses alone say other things: squid answers 503 for a site
//! that is down, tinyproxy 500, and 401 to a wrong password.

use crate::outcome::{AuthReason, Outcome, Phase, Seen};
use http::header::SERVER;
use http::{HeaderMap, StatusCode};

/// The proxy's own word, and whether the origin can have seen the request; `None` if the answer is nobody's we know.
pub(super) fn own_word(status: StatusCode, headers: &HeaderMap) -> Option<(Outcome, Seen)> {
    squid(headers).or_else(|| tinyproxy(status, headers))
}

/// `X-Squid-Error: ERR_CONNECT_FAIL 111`: a name, and the system's number. As squid 5 to 7 send it.
fn squid(headers: &HeaderMap) -> Option<(Outcome, Seen)> {
    let error = headers.get("x-squid-error")?.to_str().ok()?;
    let name = error.split(' ').next().unwrap_or_default();
    Some(match name {
        "ERR_ACCESS_DENIED" | "ERR_FORWARDING_DENIED" => (Outcome::TargetDenied, Seen::Never),
        "ERR_CONNECT_FAIL" | "ERR_SECURE_CONNECT_FAIL" | "ERR_DNS_FAIL" | "ERR_CANNOT_FORWARD" => {
            (Outcome::TargetUnreachable, Seen::Never)
        }
        // It had reached the site, which may have read the request.
        "ERR_ZERO_SIZE_OBJECT" | "ERR_READ_TIMEOUT" | "ERR_READ_ERROR" | "ERR_WRITE_ERROR" => {
            (Outcome::Interrupted { phase: Phase::Head }, Seen::Unknown)
        }
        "ERR_INVALID_REQ" | "ERR_INVALID_URL" | "ERR_UNSUP_REQ" | "ERR_UNSUP_HTTPVERSION" | "ERR_TOO_BIG" => {
            (Outcome::Fatal, Seen::Never)
        }
        _ => return None,
    })
}

/// It names itself, and has one status for all that it cannot reach.
fn tinyproxy(status: StatusCode, headers: &HeaderMap) -> Option<(Outcome, Seen)> {
    let server = headers.get(SERVER)?.as_bytes();
    let ours = server.get(..9).is_some_and(|name| name.eq_ignore_ascii_case(b"tinyproxy"));
    match status.as_u16() {
        401 if ours => Some((Outcome::AuthError { reason: AuthReason::Rejected }, Seen::Never)),
        403 if ours => Some((Outcome::TargetDenied, Seen::Never)),
        500 if ours => Some((Outcome::TargetUnreachable, Seen::Unknown)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::own_word;
    use crate::outcome::{AuthReason, Outcome, Phase, Seen};
    use http::{HeaderMap, HeaderValue, StatusCode};

    #[test]
    fn what_a_proxy_says_of_itself_is_read_and_nothing_else() {
        let word = |status: u16, name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))]);
            own_word(StatusCode::from_u16(status).unwrap(), &headers)
        };
        let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
        let broke = Outcome::Interrupted { phase: Phase::Head };
        for (status, name, value, said) in [
            (503, "x-squid-error", "ERR_CONNECT_FAIL 111", Some((Outcome::TargetUnreachable, Seen::Never))),
            (500, "x-squid-error", "ERR_CANNOT_FORWARD 0", Some((Outcome::TargetUnreachable, Seen::Never))),
            (503, "x-squid-error", "ERR_DNS_FAIL 0", Some((Outcome::TargetUnreachable, Seen::Never))),
            (403, "x-squid-error", "ERR_ACCESS_DENIED 0", Some((Outcome::TargetDenied, Seen::Never))),
            (502, "x-squid-error", "ERR_ZERO_SIZE_OBJECT", Some((broke, Seen::Unknown))),
            (400, "x-squid-error", "ERR_INVALID_REQ 0", Some((Outcome::Fatal, Seen::Never))),
            // A 407 is read as any other.
            (407, "x-squid-error", "ERR_CACHE_ACCESS_DENIED 0", None),
            (503, "x-squid-error", "ERR_OF_TOMORROW", None),
            (500, "server", "tinyproxy/1.11.1", Some((Outcome::TargetUnreachable, Seen::Unknown))),
            (401, "server", "tinyproxy/1.11.1", Some((rejected, Seen::Never))),
            (403, "server", "tinyproxy/1.11.1", Some((Outcome::TargetDenied, Seen::Never))),
            (200, "server", "tinyproxy/1.11.1", None),
            (500, "server", "nginx", None),
            (500, "server", "tiny", None),
        ] {
            assert_eq!(word(status, name, value), said, "{status} {name}: {value}");
        }
    }
}
