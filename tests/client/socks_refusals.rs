//! SOCKS5 proxies that refuse, hang up, say nonsense or say nothing.

use crate::world::{Event, Pki, Socks, any_client, get, request, within};
use http::Method;
use std::error::Error as _;
use std::num::NonZeroU32;
use std::time::Duration;
use tower::Layer as _;
use tower_egress::outcome::{AuthReason, Failure, Phase, Seen, SocksRefusal};
use tower_egress::{EgressLayer, Exit, ExitList, LeaseRequest, Outcome, Scheduler};

/// The failure of one request through this proxy, and how many messages the proxy got. Its connection is closed.
async fn failed(socks: Socks, login: &str) -> (Failure, usize) {
    let mut proxy = socks.start().await;
    let error =
        get(&any_client(), &proxy.route_by("socks5h", login), "http://shop.example/").await.unwrap_err();
    let mut messages = 0;
    loop {
        match proxy.event().await {
            Event::Socks(_) => messages += 1,
            Event::Ended(_) => break,
            Event::Accepted(_) => {}
            other => panic!("{other:?} after a refusal"),
        }
    }
    let failure = error.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
    assert!(!failure.is_blameless() && failure.refusal().is_none());
    (failure, messages)
}

#[tokio::test]
async fn every_reply_code_is_carried_as_it_came() {
    for code in (1..=8).chain([9, 0x17, 0x5b, 0xf0, 0xff]) {
        // Some say why and hang up before the address.
        for (reply, hangs_up) in [(vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0], false), (vec![5, code, 0, 1], true)]
        {
            for (socks, login, steps) in [(Socks::open(), "", 2), (Socks::with_login(), "u:p@", 3)] {
                let socks = Socks { hangs_up, ..socks.reply(&*reply) };
                let (failure, messages) = failed(socks, login).await;
                assert_eq!(failure.socks(), Some(SocksRefusal::Reply(code)));
                assert!(failure.is_login_accepted(), "who gets this far was let in");
                assert_eq!((messages, failure.is_timeout()), (steps, false), "{code}");
                let text = failure.to_string();
                assert!(
                    text.starts_with(&format!("tunnel refused by the proxy with SOCKS reply {code:#04x}")),
                    "{text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn te_081_no_way_to_log_in_ends_it_with_the_greeting() {
    for (method, login) in [(0xff, ""), (0xff, "u:p@"), (2, ""), (0, "u:p@"), (1, "u:p@"), (0x80, "")] {
        let mut proxy = Socks { method: vec![5, method], ..Socks::open() }.start().await;
        let route = proxy.route_by("socks5h", login);
        let failure = get(&any_client(), &route, "http://shop.example/").await.unwrap_err().into_failure();
        assert_eq!(failure.socks(), Some(SocksRefusal::Method(method)));
        assert!(!failure.is_login_accepted());
        let mut messages = Vec::new();
        loop {
            match proxy.event().await {
                Event::Socks(message) => messages.push(message),
                Event::Ended(_) => break,
                _ => {}
            }
        }
        let offered = if login.is_empty() { 0 } else { 2 };
        assert_eq!(messages, [[5, 1, offered]], "not a byte more: no login, and no request");
    }
}

#[tokio::test]
async fn a_refused_login_ends_it_before_the_request() {
    for (status, version) in [(1, 1), (0xff, 1), (2, 5)] {
        let socks = Socks { login: vec![version, status], ..Socks::with_login() };
        let (failure, messages) = failed(socks, "u:p@").await;
        assert_eq!((failure.socks(), messages), (Some(SocksRefusal::Login(status)), 2));
        assert!(!failure.is_login_accepted());
    }
}

#[tokio::test]
async fn a_status_with_socks_own_version_is_a_status() {
    let proxy = Socks { login: vec![5, 0], ..Socks::with_login() }.start().await;
    assert!(get(&any_client(), &proxy.route_by("socks5h", "u:p@"), "http://shop.example/").await.is_ok());
}

#[tokio::test]
async fn nonsense_and_a_hang_up_are_failures_that_refuse_nothing() {
    let open = Socks::open;
    for (what, socks, why) in [
        (
            "http",
            Socks { method: b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), ..open() },
            "does not speak SOCKS5",
        ),
        ("SOCKS4", Socks { method: vec![0, 0x5a], ..open() }, "does not speak SOCKS5"),
        ("another version", open().reply([4, 0, 0, 1, 0, 0, 0, 0, 0, 0]), "does not speak SOCKS5"),
        ("an unknown address", open().reply([5, 0, 0, 2, 0, 0, 0, 0, 0, 0]), "an address of an unknown kind"),
        ("half a choice", Socks { method: vec![5], ..open() }, "eof"),
        ("half a reply", open().reply([5, 0]), "eof"),
        ("half an address", open().reply([5, 0, 0, 1, 0, 0]), "eof"),
        ("half a name", open().reply([5, 0, 0, 3, 9, b'x']), "eof"),
        ("nothing", Socks { method: Vec::new(), ..open() }, "eof"),
    ] {
        let mut proxy = Socks { hangs_up: true, ..socks }.start().await;
        let error =
            get(&any_client(), &proxy.route_by("socks5h", ""), "http://shop.example/").await.unwrap_err();
        proxy.ended(0).await;
        assert!(error.to_string().starts_with("tunnel failed: "), "{what}: {error}");
        let failure = error.into_failure();
        assert_eq!(
            (failure.phase(), failure.seen(), failure.socks()),
            (Phase::Tunnel, Seen::Never, None),
            "{what}"
        );
        assert!(!failure.is_timeout() && !failure.is_login_accepted(), "{what}");
        assert!(failure.source().unwrap().to_string().contains(why), "{what}: {:?}", failure.source());
    }
}

/// Each message's answer may be the one that does not come, wholly or in part.
fn silences() -> Vec<Socks> {
    vec![
        Socks { method: Vec::new(), ..Socks::with_login() },
        Socks { method: vec![5], ..Socks::with_login() },
        Socks { login: vec![1], ..Socks::with_login() }.reply([]),
        Socks::with_login().reply([]),
        Socks::with_login().reply([5, 0, 0, 3, 255, b'x']),
    ]
}

#[tokio::test]
async fn te_015_silence_at_any_step_ends_at_the_tunnels_deadline() {
    let client =
        Pki::new("shop.example").builder().tunnel_timeout(Duration::from_millis(60)).build().unwrap();
    for (step, socks) in silences().into_iter().enumerate() {
        let mut proxy = socks.start().await;
        let route = proxy.route_by("socks5h", "u:p@");
        let failure = get(&client, &route, "http://shop.example/").await.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never), "{step}");
        assert!(failure.is_timeout() && failure.socks().is_none() && !failure.is_blameless(), "{step}");
        // The socket is closed.
        proxy.ended(0).await;
    }
}

#[tokio::test]
async fn te_015_a_silent_socks_exit_is_charged_and_holds_no_lease() {
    let mut proxy = Socks { method: Vec::new(), ..Socks::open() }.start().await;
    let exit = Exit::parse(&format!("socks5h://{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder().exits(ExitList::from_iter([exit])).build().unwrap();
    let client =
        Pki::new("shop.example").builder().tunnel_timeout(Duration::from_millis(60)).build().unwrap();
    let ask = LeaseRequest::per_request()
        .patience(Duration::ZERO)
        .attempts(NonZeroU32::MIN)
        .deadline(Duration::from_secs(2));
    let mut request = request(Method::GET, None, "http://shop.example/", "");
    request.extensions_mut().insert(ask);
    let error = within(EgressLayer::new(&scheduler).layer(client).oneshot(request)).await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::Tunnel }));
    assert_eq!(scheduler.snapshot().in_flight, 0);
    proxy.ended(0).await;
}

#[tokio::test]
async fn a_refusal_is_the_targets_the_logins_or_the_exits() {
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let no_method = Socks { method: vec![5, 0xff], ..Socks::open() };
    let no_login = Socks { login: vec![1, 1], ..Socks::with_login() };
    for (socks, outcome) in [
        (Socks::with_login().reply([5, 1, 0, 1]), Outcome::ProxyError { phase: Phase::Tunnel }),
        (Socks::with_login().reply([5, 2, 0, 1]), Outcome::TargetDenied),
        (Socks::with_login().reply([5, 5, 0, 1]), Outcome::TargetUnreachable),
        (no_method, rejected),
        (no_login, rejected),
    ] {
        let proxy = socks.start().await;
        let exit = Exit::parse(&format!("socks5h://u:p@{}", proxy.address())).unwrap();
        let scheduler = Scheduler::builder().exits(ExitList::from_iter([exit])).build().unwrap();
        let ask = LeaseRequest::per_request().patience(Duration::ZERO).attempts(NonZeroU32::MIN);
        let mut request = request(Method::GET, None, "http://shop.example/", "");
        request.extensions_mut().insert(ask);
        let error =
            within(EgressLayer::new(&scheduler).layer(any_client()).oneshot(request)).await.unwrap_err();
        assert_eq!(error.outcome(), Some(outcome), "{error}");
    }
}
