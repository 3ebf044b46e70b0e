//! Who speaks: an answer may be the site's, the exit's or its provider's, and each means another thing.

use crate::shop::*;
use http::header::{CONNECTION, HeaderName, PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, StatusCode};
use std::num::NonZeroU32;
use tower::Layer;
use tower_egress::lab::{Behaviour, Lab, Mood, Provider, Reply};
use tower_egress::outcome::{AuthReason, BlockedBy, Failure, GatewayScope, Phase, RetryAfter, Seen};
use tower_egress::verdict::Why;
use tower_egress::{
    Body, EgressClient, EgressLayer, Gateway, LeaseError, LeaseRequest, Outcome, Scheduler, Served,
};

fn once() -> LeaseRequest {
    LeaseRequest::per_request().attempts(NonZeroU32::MIN)
}

fn marked(status: u16, name: &'static str, value: &'static str) -> Reply {
    let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
    Reply::new(StatusCode::from_u16(status).unwrap()).header(name, value)
}

impl Shop {
    /// Asks for the page over plain http, where the exit and the site speak alike.
    async fn plain(&self, ask: LeaseRequest) -> Served {
        let asked = self.send(request(Method::GET, &self.world.url("/p"), "", ask)).await;
        read(asked.unwrap()).await.1
    }
}

#[tokio::test(start_paused = true)]
async fn te_025_one_status_has_as_many_meanings_as_its_header_says() {
    let nine = Some(RetryAfter::new(secs(9)));
    let full = |scope, retry_after| Outcome::GatewayOverloaded { retry_after, scope };
    let origin = Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE };
    for (said, hinted, outcome, burned, asked) in [
        // A real ban: this exit rests at this site.
        (Some("banned"), false, Outcome::Blocked { by: BlockedBy::Exit }, 1, 1),
        // The provider is busy, unless the site forges it: at first it is left alone for this site, for as long as it asks.
        (Some("serverbusy"), true, full(GatewayScope::Gateway, nine), 1, 1),
        // It has no exits left for this site: that is nobody's heat, but the site is left alone through it.
        (Some("noslaves"), false, full(GatewayScope::Target, None), 1, 1),
        (Some("client_conn_closed"), false, Outcome::Fatal, 0, 1),
        // The site's own, with and without a hint. It is the site that rests then, if anything does.
        (None, false, origin, 0, 0),
        (None, true, Outcome::RateLimited { retry_after: nine }, 1, 0),
    ] {
        let refusal = said.map_or_else(
            || Reply::new(StatusCode::SERVICE_UNAVAILABLE),
            |said| marked(503, "zyte-error", said),
        );
        let refusal = if hinted { refusal.header(RETRY_AFTER, 9) } else { refusal };
        let lab = Lab::builder();
        let lab = match said {
            Some(_) => lab.exit(Behaviour::fine().answer_requests(refusal.clone())),
            None => lab.fine(1),
        };
        let shop = Shop::of(lab);
        shop.world.origin().page("/p", refusal);
        let served = shop.plain(once()).await;
        assert_eq!(served.outcome(), outcome, "{said:?} {hinted}");
        let fleet = shop.scheduler.snapshot();
        assert_eq!((fleet.origins[0].benched, fleet.exits.dead), (burned, 0), "{said:?} {hinted}");
        assert_eq!(shop.world.origin().requests(), 1 - asked, "who has answered: {said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn te_046_a_proxys_502_is_told_from_a_sites_where_it_can_be() {
    // Chosen: what a proxy says of the target is the target's after a second exit has said the same; that one name does not
    // resolve is the target's at once, and no exit is asked again. Neither costs an exit anything at other sites.
    let bad = || Reply::new(StatusCode::BAD_GATEWAY);
    let origin = Outcome::OriginError { status: StatusCode::BAD_GATEWAY };
    let ask = || LeaseRequest::per_request().attempts(NonZeroU32::new(4).unwrap());
    let dns = marked(502, "proxy-status", "proxy.test; error=dns_error");
    let squid = marked(503, "x-squid-error", "ERR_DNS_FAIL 0");
    let refused = marked(502, "proxy-status", "proxy.test; error=connection_refused");
    for (says, https, outcome, attempts) in [
        // a: marked.
        (Some(dns), false, Outcome::TargetFailed, 1),
        (Some(squid), false, Outcome::TargetFailed, 1),
        (Some(refused), false, Outcome::TargetUnreachable, 2),
        // d: in reply to a CONNECT.
        (Some(bad()), true, Outcome::TargetUnreachable, 2),
    ] {
        let says = says.unwrap();
        let behaviour = Behaviour::fine().answer_requests(says.clone()).answer_connect(says);
        let shop = Shop::of(Lab::builder().exits(3, behaviour));
        let url = if https { shop.world.tls_url("/p") } else { shop.world.url("/p") };
        let (trail, why, came) = match shop.send(request(Method::GET, &url, "", ask())).await {
            Ok(answer) => {
                let (_, served) = read(answer).await;
                (served.trail(), Why::NoCure, served.outcome())
            }
            Err(error) => (error.attempts().to_vec(), error.why().unwrap(), error.outcome().unwrap()),
        };
        assert_eq!((came, trail.len(), why), (outcome, attempts, Why::NoCure), "{https}");
        assert!(trail.windows(2).all(|two| two[0].exit != two[1].exit), "another exit is asked");
        let fleet = shop.scheduler.snapshot();
        assert_eq!((fleet.exits.dead, fleet.origins[0].benched), (0, 0));
        assert_eq!(shop.world.origin().requests(), 0);
    }

    // b, c: unmarked over plain http. From either it is the same word, nobody is charged on it alone, and what must not be
    // sent twice is not, though the site may never have seen it.
    for by_exit in [true, false] {
        let behaviour = Behaviour::fine();
        let behaviour = if by_exit { behaviour.answer_requests(bad()) } else { behaviour };
        let shop = Shop::of(Lab::builder().exits(3, behaviour));
        shop.world.origin().page("/p", bad());
        for (method, attempts) in [(Method::GET, 4), (Method::POST, 1)] {
            let answer = shop.send(request(method, &shop.world.url("/p"), "order", ask())).await.unwrap();
            let (status, served) = read(answer).await;
            assert_eq!((status, served.outcome(), served.attempts()), (502, origin, attempts), "{by_exit}");
        }
        let fleet = shop.scheduler.snapshot();
        assert_eq!((fleet.exits.dead, fleet.origins[0].benched), (0, 0));
    }

    // e: inside of a tunnel it is the site's, whatever it says of itself.
    for reply in [bad(), marked(502, "x-squid-error", "ERR_DNS_FAIL 0")] {
        let shop = Shop::of(Lab::builder().fine(3));
        shop.world.origin().page("/p", reply);
        let (status, served) = shop.fetch(once()).await.unwrap();
        assert_eq!((status, served.outcome()), (502, origin));
        assert_eq!(shop.scheduler.snapshot().exits.dead, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn te_062_a_slow_site_kills_no_exit() {
    let lab = Lab::builder().site("slow.test").site("fast.test").fine(3);
    let shop = Shop::of(lab);
    let (slow, fast) = (shop.world.site("slow.test").unwrap(), shop.world.site("fast.test").unwrap());
    slow.respond(|_| Reply::page("at last").after(secs(2)));
    fast.respond(|_| Reply::page("at once").after(millis(5)));
    let stack = EgressLayer::new(&shop.scheduler).attempt_timeout(millis(500)).layer(shop.world.clone());
    for _ in 0..60 {
        let error = stack.clone().oneshot(request(Method::GET, "https://slow.test/", "", once())).await;
        assert_eq!(error.unwrap_err().outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
        let answer = stack.clone().oneshot(request(Method::GET, "https://fast.test/", "", once())).await;
        assert_eq!(read(answer.unwrap()).await.0, 200);
    }
    let fleet = shop.scheduler.snapshot();
    assert_eq!((fleet.exits.dead, fleet.outcomes.interrupted, fleet.outcomes.ok), (0, 60, 60));
    assert!(fleet.origins.iter().all(|origin| origin.benched == 0));
}

#[tokio::test(start_paused = true)]
async fn te_062_what_runs_out_of_time_before_the_tunnel_stands_is_the_exits() {
    for phase in [Phase::ExitTcp, Phase::ExitTls, Phase::Tunnel] {
        let exits = Lab::builder().fine(1).in_memory().unwrap().exits();
        let scheduler = Scheduler::builder().exits(exits).build().unwrap();
        let hangs = tower::service_fn(move |_: Request<tower_egress::retry::ReplayBody<Body>>| async move {
            Err::<http::Response<Body>, _>(Failure::new(phase, Seen::Never).timed_out())
        });
        let stack = EgressLayer::new(&scheduler).layer(hangs);
        for dead in [0, 0, 1] {
            let ask = request(Method::GET, "https://shop.test/", "", once());
            let error = stack.clone().oneshot(ask).await.unwrap_err();
            assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase }));
            assert_eq!(scheduler.snapshot().exits.dead, dead, "{phase}");
        }
    }
}

#[tokio::test]
async fn te_070_a_login_that_is_refused_is_offered_no_more_and_the_call_goes_on_elsewhere() {
    let refuses = || {
        let challenge = HeaderValue::from_static("Basic realm=\"exits\"");
        let reply =
            Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).header(PROXY_AUTHENTICATE, challenge);
        reply.header(CONNECTION, HeaderValue::from_static("close"))
    };
    for https in [true, false] {
        let wrong = Behaviour::fine().answer_connect(refuses()).answer_requests(refuses());
        let lab = Lab::builder().exit(wrong).fine(1).start().await.unwrap();
        let (scheduler, client) = client(&lab);
        let url = if https { lab.tls_url("/p") } else { lab.url("/p") };
        let asked = || lab.exit(0).traffic().connects + lab.exit(0).traffic().requests;
        for _ in 0..20 {
            let before = asked();
            let answer =
                client.send(request(Method::GET, &url, "", LeaseRequest::per_request())).await.unwrap();
            let (status, served) = read(answer).await;
            assert_eq!((status, exit_of(lab.exit(1).source())), (200, place(&lab.exits(), served.exit())));
            assert!(asked() - before <= 1, "once a call");
        }
        // Refused, refused again when that is confirmed, and not asked any more: for a second, where the site may have said so.
        let most = if https { 2 } else { 4 };
        assert!((2..=most).contains(&asked()), "{https}: {}", asked());
        assert_eq!((lab.origin().requests(), scheduler.snapshot().exits.stopped), (20, 1));
    }

    // A 407 of the site's own, inside of a tunnel, is an answer as any other.
    let lab = Lab::builder().fine(1).start().await.unwrap();
    lab.origin().page("/p", refuses());
    let (scheduler, client) = client(&lab);
    let answer = client.send(request(Method::GET, &lab.tls_url("/p"), "", LeaseRequest::per_request())).await;
    let (status, served) = read(answer.unwrap()).await;
    assert_eq!((status, served.attempts(), scheduler.snapshot().exits.stopped), (407, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn te_070_a_site_that_speaks_as_its_gateway_over_plain_http_stops_no_login() {
    let challenge = || marked(407, "proxy-authenticate", "Basic realm=\"exits\"");
    for forged in [
        marked(407, "x-brd-err-code", "client_10020"),
        marked(200, "x-brd-err-code", "client_10020"),
        challenge(),
    ] {
        let lab = Lab::builder().site("hostile.test").site("shop.test").fine(1);
        let shop = Shop::of(lab);
        let hostile = shop.world.site("hostile.test").unwrap();
        hostile.respond(move |_| forged.clone());
        shop.world.site("shop.test").unwrap().page("/p", Reply::page("a page"));
        let patient = || LeaseRequest::per_request().patience(secs(70));
        let ask = |host| request(Method::GET, &format!("http://{host}/p"), "", patient());
        for _ in 0..20 {
            if let Ok(answer) = shop.send(ask("hostile.test")).await {
                read(answer).await;
            }
        }
        // Nothing else has gone out on these logins, and nobody resumes them.
        let start = now();
        let answer = shop.send(ask("shop.test")).await;
        let after = now() - start;
        let (status, _) = read(answer.unwrap_or_else(|error| panic!("{error}"))).await;
        assert!(status == 200 && after <= secs(60), "{status} after {after:?}");
        let start = now();
        for _ in 0..20 {
            read(shop.send(ask("shop.test")).await.unwrap()).await;
        }
        assert!(now() - start <= secs(2), "and it is forgotten");
    }
}

#[tokio::test(start_paused = true)]
async fn te_140_a_407_that_asks_for_no_login_is_a_lack_of_room_and_passes() {
    let lab = Lab::builder().gateway(Provider::sessions());
    let world = lab.in_memory().unwrap();
    let gateway = Gateway::parse(&world.gateway().template()).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).seed(7).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(world.clone()));
    let get = || client.send(request(Method::GET, &world.tls_url("/p"), "", once().patience(secs(0))));
    read(get().await.unwrap()).await;

    let full = Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).body("no instance is running");
    world.gateway().behave(Mood::answers(full)).unwrap();
    let start = now();
    let mut refusals = 0;
    while now() - start < secs(5) {
        let error = get().await.unwrap_err();
        if let Some(outcome) = error.outcome() {
            assert_eq!(outcome, Outcome::AuthError { reason: AuthReason::Capacity });
            refusals += 1;
        } else {
            assert!(!matches!(error.refusal(), Some(LeaseError::FleetStopped)), "{error}");
        }
        assert_eq!(scheduler.snapshot().exits.stopped, 0);
        tokio::time::advance(millis(100)).await;
    }
    assert!((1..25).contains(&refusals), "it is left alone between: {refusals}");
    world.gateway().behave(Mood::fine()).unwrap();
    let healed = now();
    while let Err(error) = get().await {
        tokio::time::advance(error.retry_after().unwrap_or(millis(100))).await;
    }
    assert!(now() - healed <= secs(10), "{:?}", now() - healed);
}
