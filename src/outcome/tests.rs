//! `Retry-After`, and the counts.

use super::*;
use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use std::time::{Duration, SystemTime};

fn read(value: &str, date: Option<&str>) -> Option<Duration> {
    let mut headers = HeaderMap::new();
    headers.insert(RETRY_AFTER, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
    if let Some(date) = date {
        headers.insert(DATE, date.parse().unwrap());
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
    RetryAfter::from_headers(&headers, now).map(RetryAfter::wait)
}

#[test]
fn retry_after_is_read_in_both_forms() {
    let secs = |n| Some(Duration::from_secs(n));
    for (value, date, expected) in [
        ("0", None, secs(0)),
        ("120", None, secs(120)),
        (" 7 ", None, secs(7)),
        ("99999999999999999999999", None, secs(u64::from(u32::MAX))),
        ("Sun, 06 Nov 1994 08:50:37 GMT", None, secs(60)),
        ("Sunday, 06-Nov-94 08:50:37 GMT", None, secs(60)),
        ("Sun, 06 Nov 1994 08:50:37 GMT", Some("Sun, 06 Nov 1994 08:50:00 GMT"), secs(37)),
        ("Sun, 06 Nov 1994 08:50:37 GMT", Some("garbage"), secs(60)),
        ("Sun, 06 Nov 1994 08:00:00 GMT", None, secs(0)),
        ("-5", None, None),
        ("+5", None, None),
        ("1.5", None, None),
        ("nan", None, None),
        ("inf", None, None),
        ("soon", None, None),
        ("", None, None),
        ("5, 6", None, None),
        ("\u{e9}", None, None),
    ] {
        assert_eq!(read(value, date), expected, "{value:?} {date:?}");
    }
    assert_eq!(RetryAfter::from_headers(&HeaderMap::new(), SystemTime::UNIX_EPOCH), None);
}

#[test]
fn the_multiplier_leaves_out_what_no_retry_can_cure() {
    let mut counts = OutcomeCounts::default();
    assert_eq!(counts.retry_multiplier(), None);
    (counts.ok, counts.blocked, counts.auth_error, counts.fatal) = (4, 1, 10, 10);
    assert_eq!(counts.retry_multiplier(), Some(1.25));
    assert_eq!(counts.total(), 25);
}

#[test]
fn b22_the_multiplier_has_bands_and_is_never_infinite() {
    let of = |ok, blocked| OutcomeCounts { ok, blocked, ..OutcomeCounts::default() }.multiplier();
    for (ok, blocked, band) in [
        (10, 0, Band::Healthy),
        (10, 2, Band::Healthy),
        (100, 21, Band::Attention),
        (10, 5, Band::Attention),
        (100, 51, Band::Alarm),
    ] {
        assert_eq!(of(ok, blocked).unwrap().band, band, "{ok} and {blocked}");
    }
    assert_eq!(of(0, 19), None, "too few to tell");
    let hopeless = of(0, 20).unwrap();
    assert_eq!((hopeless.value, hopeless.band), (20.0, Band::Alarm));
    assert!(hopeless.to_string().starts_with("20 or more, alarm"), "{hopeless}");
    assert_eq!(of(10, 1).unwrap().to_string(), "1.100, healthy");
}

#[test]
fn a22_c13_every_outcome_has_a_count_of_its_name() {
    let outcomes = [
        Outcome::Ok,
        Outcome::RateLimited { retry_after: None },
        Outcome::Blocked { by: BlockedBy::Unknown },
        Outcome::ProxyError { phase: Phase::Tunnel },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway },
        Outcome::AuthError { reason: AuthReason::Rejected },
        Outcome::TargetDenied,
        Outcome::TargetUnreachable,
        Outcome::OriginError { status: StatusCode::BAD_GATEWAY },
        Outcome::Interrupted { phase: Phase::Body },
        Outcome::Fatal,
    ];
    for outcome in outcomes {
        let mut counts = OutcomeCounts::default();
        *counts.of(&outcome) += 1;
        let counted: Vec<_> = counts.named().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(outcome.name(), 1)]);
        assert_eq!(counts.attempts() == 1, outcome.success().is_some());
        assert_eq!(counts.ok == 1, outcome.success() == Some(true));
    }
}

#[test]
fn a_failure_prints_no_word_of_the_proxy() {
    let answer =
        http::Response::builder().status(407).header("x-echo", "secret").body("secret".into()).unwrap();
    let failure = Failure::new(Phase::Tunnel, Seen::Never).refused(answer);
    assert_eq!(failure.to_string(), "tunnel refused by the proxy with 407");
    assert!(!format!("{failure:?}").contains("secret"));
}

#[test]
fn what_did_not_connect_blames_the_exit_only_if_the_system_says_so() {
    use std::io::{Error, ErrorKind};
    let told = |error: Error| {
        // As a client wraps it.
        let wrapped = Failure::new(Phase::Head, Seen::Unknown).because(error);
        let failure = Failure::not_connected(wrapped);
        assert_eq!(failure.seen(), Seen::Never);
        (failure.phase(), failure.is_blameless())
    };
    for kind in [ErrorKind::ConnectionRefused, ErrorKind::TimedOut, ErrorKind::HostUnreachable] {
        assert_eq!(told(kind.into()), (Phase::ExitTcp, false), "{kind}");
    }
    for kind in [ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof, ErrorKind::Other] {
        assert_eq!(told(kind.into()), (Phase::OriginTls, false), "{kind}");
    }
    assert_eq!(told(ErrorKind::AddrNotAvailable.into()), (Phase::ExitTcp, true));
    let again = Error::other(Error::other(Error::from(ErrorKind::ConnectionRefused)));
    assert_eq!(told(again), (Phase::ExitTcp, false), "as connectors wrap it that give an io::Error");
}

#[test]
fn an_error_that_is_its_own_source_has_an_end() {
    #[derive(Debug)]
    struct Circle;
    impl fmt::Display for Circle {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("round")
        }
    }
    impl std::error::Error for Circle {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    assert_eq!(Failure::not_connected(Circle).phase(), Phase::OriginTls);
}
