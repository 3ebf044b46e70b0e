//! `Retry-After`, in all the forms that it comes in.

use crate::shop::*;
use http::header::{AGE, DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tower_egress::LeaseRequest;
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::RetryAfter;

/// Sun, 06 Nov 1994 08:49:37 GMT
fn noon() -> SystemTime {
    UNIX_EPOCH + secs(784_111_777)
}

fn read(value: impl AsRef<[u8]>) -> Option<Duration> {
    let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
    RetryAfter::from_headers(&HeaderMap::from_iter([(RETRY_AFTER, value)]), noon()).map(RetryAfter::wait)
}

/// How long a pair rests that was answered so, and how long a request waits before it goes again.
async fn answered(status: StatusCode, headers: &[(http::HeaderName, String)]) -> (Duration, Duration) {
    let mut refusal = Reply::new(status);
    for (name, value) in headers {
        refusal = refusal.header(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    let shop = Shop::of(Lab::builder().fine(1));
    shop.world.origin().page("/p", refusal.clone());
    let once = LeaseRequest::per_request().attempts(1.try_into().unwrap());
    assert_eq!(shop.fetch(once).await.unwrap().0, status);
    let rest = shop.scheduler.snapshot().hottest.first().map_or(Duration::ZERO, |pair| pair.cooling);

    let shop = Shop::of(Lab::builder().fine(2));
    shop.world
        .origin()
        .respond(move |seen| if seen.number() == 0 { refusal.clone() } else { Reply::page("in") });
    let (status, served) = shop.fetch(LeaseRequest::new("k")).await.unwrap();
    assert_eq!((status, served.attempts()), (200, 2));
    (rest, served.waited())
}

async fn limited(value: &str) -> (Duration, Duration) {
    answered(StatusCode::TOO_MANY_REQUESTS, &[(RETRY_AFTER, value.to_owned())]).await
}

/// What was rested for a hint: it is lengthened by up to a quarter, and timers are whole milliseconds.
fn rests(rest: Duration, hint: Duration) -> bool {
    rest + millis(2) >= hint && rest <= hint.mul_f64(1.25) + millis(2)
}

#[tokio::test(start_paused = true)]
async fn te_014_a_hint_that_is_no_whole_number_is_no_error() {
    assert_eq!((read(" 7 "), read("07")), (Some(secs(7)), Some(secs(7))));
    for value in ["0.503", "1.", ".5", "1e3", "+3", "", "5, 10"] {
        assert_eq!(read(value), None, "{value:?}");
        let (_, waited) = limited(value).await;
        assert!(waited >= secs(1), "{value:?}: the usual wait, {waited:?}");
    }
    assert!(rests(limited("07").await.0, secs(7)) && rests(limited(" 7 ").await.0, secs(7)));
}

#[tokio::test(start_paused = true)]
async fn te_022_a_negative_hint_is_none_and_zero_waits_as_usual() {
    for value in ["-1", "-5", "-0"] {
        assert_eq!(read(value), None, "{value:?}");
    }
    assert_eq!(read("0"), Some(Duration::ZERO));
    for value in ["-1", "-5", "-0", "0"] {
        for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
            let (_, waited) = answered(status, &[(RETRY_AFTER, value.to_owned())]).await;
            assert!(waited >= secs(1), "{status} {value:?}: {waited:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn te_054_dates_are_read_in_all_forms_or_are_no_hint() {
    for (value, expected) in [
        ("Sun, 06 Nov 1994 08:49:36 GMT", Some(Duration::ZERO)),
        ("Sunday, 06-Nov-94 08:49:36 GMT", Some(Duration::ZERO)),
        ("Sun Nov  6 08:49:36 1994", Some(Duration::ZERO)),
        ("Sun, 06 Nov 1994 08:49:39 GMT", Some(secs(2))),
        ("Sunday, 06-Nov-94 08:49:39 GMT", Some(secs(2))),
        ("Sun Nov  6 08:49:39 1994", Some(secs(2))),
        ("Sat, 06 Nov 2004 08:49:37 GMT", Some(secs(3653 * 86_400))),
        ("Mon, 01 Jan 0001 00:00:00 GMT", None),
        ("Wed, 30 Feb 1994 00:00:00 GMT", None),
        ("Mon, 06 Nov 1994 08:49:39 GMT", None),
        ("Sun, 06 Nov 1994 08:49:39 gmt", None),
    ] {
        assert_eq!(read(value), expected, "{value:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn te_054_a_date_far_away_is_cut_to_an_hour() {
    let sent = httpdate::fmt_http_date(noon());
    let far = httpdate::fmt_http_date(noon() + secs(10 * 365 * 86_400));
    let shop = Shop::of(Lab::builder().fine(1));
    let refusal = Reply::new(StatusCode::TOO_MANY_REQUESTS)
        .header(DATE, HeaderValue::from_str(&sent).unwrap())
        .header(RETRY_AFTER, HeaderValue::from_str(&far).unwrap());
    shop.world.origin().page("/p", refusal);
    assert_eq!(shop.fetch(LeaseRequest::per_request()).await.unwrap().0, 429);
    assert!(rests(shop.scheduler.snapshot().hottest[0].cooling, secs(3_600)));
    let (_, waited) =
        answered(StatusCode::SERVICE_UNAVAILABLE, &[(DATE, far.clone()), (RETRY_AFTER, sent)]).await;
    assert!(waited >= secs(1) && waited < secs(6), "a past date waits as usual: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn te_067_a_hint_binds_the_exit_it_was_given_to() {
    let shop = Shop::of(Lab::builder().fine(3));
    let first = std::sync::Arc::new(std::sync::OnceLock::new());
    let limited = || Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(secs(60));
    shop.world.origin().respond(move |seen| match *first.get_or_init(|| seen.peer()) == seen.peer() {
        true => limited(),
        false => Reply::page("in"),
    });
    let start = now();
    let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
    assert_eq!((status, served.attempts()), (200, 2));
    assert!(now() - start < secs(60), "another exit need not wait so long");
    for _ in 0..50 {
        shop.fetch(LeaseRequest::per_request()).await.unwrap();
    }
    let seen = shop.seen();
    assert_eq!(seen.iter().filter(|exit| **exit == seen[0]).count(), 1, "the limited one is left alone");
}

#[tokio::test(start_paused = true)]
async fn te_067_when_all_are_limited_few_requests_find_it_out() {
    // Chosen: the site as a whole has no gate of its own. The request waits longer from attempt to attempt, each exit rests
    // as it was told, and with none left nothing is sent.
    let shop = Shop::of(Lab::builder().fine(2));
    let limited = Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(secs(2));
    shop.world
        .origin()
        .respond(move |seen| if seen.number() < 2 { limited.clone() } else { Reply::page("in") });
    let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
    let seen = shop.world.origin().seen();
    assert_eq!((status, served.attempts(), seen.len()), (200, 3, 3));
    assert_ne!(seen[0].peer(), seen[1].peer());
    let rested = seen[..2].iter().find(|before| before.peer() == seen[2].peer()).unwrap();
    assert!(seen[2].at() - rested.at() >= secs(2), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn te_095_a_date_is_turned_into_a_wait_by_a_clock_that_does_not_jump() {
    // The wall is read once. An hour later by the paused clock the real wall still shows the time of the start, as if it had
    // been set back; a date is measured against the start and the hour.
    let shop = Shop::of(Lab::builder().fine(1));
    let wall = wall();
    tokio::time::advance(secs(3_600)).await;
    let date = httpdate::fmt_http_date(wall + secs(3_600 + 600));
    let refusal = Reply::new(StatusCode::TOO_MANY_REQUESTS);
    shop.world.origin().page("/p", refusal.header(RETRY_AFTER, HeaderValue::from_str(&date).unwrap()));
    shop.fetch(LeaseRequest::per_request()).await.unwrap();
    let rest = shop.scheduler.snapshot().hottest[0].cooling;
    assert!(rest > secs(597) && rest < secs(752), "{rest:?}");
}

#[expect(clippy::disallowed_methods, reason = "a date of the test's own")]
fn wall() -> SystemTime {
    SystemTime::now()
}

#[tokio::test(start_paused = true)]
async fn te_107_a_date_is_measured_against_the_answers_own() {
    let at = |time: SystemTime| httpdate::fmt_http_date(time);
    for sent in [wall() - secs(600), wall() + secs(600)] {
        let headers = [(DATE, at(sent)), (RETRY_AFTER, at(sent + secs(5)))];
        let (rest, _) = answered(StatusCode::TOO_MANY_REQUESTS, &headers).await;
        assert!(rests(rest, secs(5)), "{rest:?}");
    }
    let (rest, _) = answered(StatusCode::TOO_MANY_REQUESTS, &[(RETRY_AFTER, at(wall() + secs(300)))]).await;
    assert!(rest > secs(295) && rest < secs(380), "without one, against this machine's: {rest:?}");
    let (rest, _) = answered(StatusCode::TOO_MANY_REQUESTS, &[(RETRY_AFTER, at(wall() - secs(300)))]).await;
    assert!(rests(rest, secs(1)), "what has passed is no wait: {rest:?}");
}

#[tokio::test(start_paused = true)]
async fn te_107_the_age_of_an_answer_shortens_no_wait() {
    // Chosen: `Age` is not looked at. With it the wait would end sooner, never later; an answer out of a cache is no news of
    // an exit anyhow.
    let sent = wall() - secs(100);
    let headers = [
        (DATE, httpdate::fmt_http_date(sent)),
        (AGE, "100".to_owned()),
        (RETRY_AFTER, httpdate::fmt_http_date(sent + secs(160))),
    ];
    let (rest, _) = answered(StatusCode::TOO_MANY_REQUESTS, &headers).await;
    assert!(rests(rest, secs(160)), "{rest:?}");
}

#[test]
fn te_132_what_is_no_number_is_no_hint() {
    for value in ["nan", "inf", "-inf", "Infinity", "0x10", "\u{b2}", "\u{661}\u{662}", "1_000", "1 0"] {
        assert_eq!(read(value), None, "{value:?}");
    }
    for bytes in [&b"\xff\xfe"[..], b"5\xff", b"\x80"] {
        assert_eq!(read(bytes), None, "{bytes:?}");
    }
}

#[test]
fn te_132_no_bytes_make_the_parser_panic_or_wait_for_ever() {
    const LETTERS: &[u8] = b"0123456789 ,:-+.eE_xSunMoTuWedThFrSatJanNovGMT\t\x80\xff";
    let mut state = 1_u64;
    for _ in 0..200_000 {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap()
        };
        let value: Vec<u8> = (0..next() % 32).map(|_| LETTERS[next() % LETTERS.len()]).collect();
        if let Some(wait) = read(&value) {
            assert!(wait <= secs(u64::from(u32::MAX)), "{value:?}");
        }
    }
    let mut date = *b"Sun, 06 Nov 1994 08:49:39 GMT";
    for at in 0..date.len() {
        let was = date[at];
        for byte in (32..127).chain(128..=255) {
            date[at] = byte;
            let _ = read(date);
        }
        date[at] = was;
    }
}

#[test]
fn te_014_of_two_lines_the_longer_wait_holds() {
    let headers = |values: [&'static str; 2]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, HeaderValue::from_static(value));
        }
        RetryAfter::from_headers(&headers, noon()).map(RetryAfter::wait)
    };
    assert_eq!(headers(["5", "10"]), Some(secs(10)));
    assert_eq!(headers(["10", "5"]), Some(secs(10)));
    assert_eq!(headers(["soon", "5"]), Some(secs(5)));
    assert_eq!(headers(["soon", "later"]), None);
}
