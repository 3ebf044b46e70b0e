//! What is taken for a block, what is not, and what a block may cost.

use crate::bodies::{peak, tried};
use crate::pages::bomb;
use crate::shop::*;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::Layer;
use tower_egress::classify::Answer;
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::{BlockedBy, Phase};
use tower_egress::{
    Body, EgressClient, EgressLayer, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler, Served, Site,
};

const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };
const BROKEN: Outcome = Outcome::Interrupted { phase: Phase::Body };

fn status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

/// How many pairs rest, by site.
fn resting(scheduler: &Scheduler, site: &str) -> usize {
    let fleet = scheduler.snapshot();
    let rests = |origin: &str, cooling: Duration| origin == site && cooling > Duration::ZERO;
    fleet.hottest.iter().filter(|pair| rests(pair.origin.as_str(), pair.cooling)).count()
}

#[tokio::test(start_paused = true)]
async fn te_018_a_rule_that_calls_everything_a_block_costs_its_site_and_no_other() {
    // Chosen: pairs at that site do rest, two a request at most, and the last one of the list is paced; nothing is charged to
    // another site. Nothing is given back when the site turns out to be the cause: that all exits are blocked alike frees none of
    // them, since a wrong verdict that does would send everything through banned ones. Only that an exit serves others lays a block
    // to its request, from then on; and an exit that was burned comes back by a trial that passes.
    let world = Lab::builder().fine(6).site("one.example").site("two.example").in_memory().unwrap();
    let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build().unwrap();
    let one = world.origin().host().to_owned();
    let name = one.clone();
    let banned = move |answer: &Answer<'_>| (answer.origin().as_str() == name).then_some(BLOCKED);
    let stack = EgressLayer::new(&scheduler).rule(banned).layer(world.clone());
    let ask = || LeaseRequest::per_request().patience(secs(0));
    let get = |host: &str| request(Method::GET, &format!("https://{host}/p"), "", ask());

    let answer = stack.clone().oneshot(get(&one)).await.unwrap();
    assert_eq!(answer.extensions().get::<Served>().unwrap().outcome(), BLOCKED);
    drop(answer);
    let sent = world.origin().requests();
    assert!((2..=4).contains(&sent) && resting(&scheduler, &one) <= 2, "{sent} sends burn two exits");
    for _ in 0..30 {
        drop(stack.clone().oneshot(get(&one)).await);
    }
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.exits.dead, fleet.exits.quarantined, fleet.in_flight), (0, 0, 0));
    assert!(world.origin().requests() < 31 * 4 / 2, "who rests is not asked: {}", world.origin().requests());
    let site = fleet.origins.iter().find(|site| site.origin.as_str() == one).unwrap();
    assert_eq!(site.outcomes.blocked, world.origin().requests());

    for _ in 0..60 {
        let (code, served) = read(stack.clone().oneshot(get("two.example")).await.unwrap()).await;
        assert_eq!((code, served.attempts()), (200, 1));
    }
    assert_eq!(resting(&scheduler, "two.example"), 0);
    let used = world.site("two.example").unwrap().peers().len();
    assert_eq!(used, 6, "by all exits");
}

#[tokio::test(start_paused = true)]
async fn te_091_one_page_that_always_says_403_costs_the_site_no_attempt() {
    // Chosen: a 403 is a block, and rests its pair for 10 s; one request burns two exits at most, and the others serve the
    // site meanwhile. Whoever knows the page says so with a rule.
    for exits in [3, 6, 12] {
        let shop = Shop::of(Lab::builder().fine(exits));
        shop.world.origin().page("/private", Reply::new(status(403)));
        let private = request(Method::GET, &shop.world.tls_url("/private"), "", LeaseRequest::per_request());
        assert_eq!(read(shop.send(private).await.unwrap()).await.0, 403);
        let host = shop.world.origin().host().to_owned();
        assert!(resting(&shop.scheduler, &host) <= 2);
        for _ in 0..100 {
            let (code, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
            assert_eq!((code, served.attempts()), (200, 1), "{exits} exits");
        }
        assert_eq!(shop.scheduler.snapshot().exits.dead, 0);
    }

    let shop = Shop::of(Lab::builder().fine(2));
    shop.world.origin().page("/private", Reply::new(status(403)));
    let known = |answer: &Answer<'_>| (answer.status() == 403).then_some(Outcome::Fatal);
    let stack = EgressLayer::new(&shop.scheduler).rule(known).layer(shop.world.clone());
    let private = request(Method::GET, &shop.world.tls_url("/private"), "", LeaseRequest::per_request());
    let (code, served) = read(stack.oneshot(private).await.unwrap()).await;
    assert_eq!((code, served.attempts(), shop.scheduler.snapshot().hottest.len()), (403, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn te_082_a_page_that_only_mentions_a_captcha_is_not_blocked() {
    let login = "<form><input name=user><input type=\"password\"><div class=\"g-recaptcha\"></div></form>\
                 <script src=\"https://www.google.com/recaptcha/api.js\"></script>";
    let long = format!("<html>{login}{}</html>", "<p>9.99</p>".repeat(4_000));
    assert!(long.len() > 39 << 10);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let pdf = HeaderValue::from_static("application/pdf");
    let json = HeaderValue::from_static("application/json");
    let challenge = "%PDF-1.7 <title>Just a moment...</title> Robot Check, Pardon Our Interruption";
    let error = r#"{"error":"Access Denied","hint":"g-recaptcha is missing"}"#;
    let pages = [
        ("/long", 200, &html, long.clone()),
        ("/login", 200, &html, login.to_owned()),
        ("/wrong", 422, &html, login.to_owned()),
        ("/pdf", 200, &pdf, challenge.to_owned()),
        ("/invalid", 400, &json, error.to_owned()),
        // Two proofs.
        ("/small", 200, &html, "<div class=\"g-recaptcha\"></div>".to_owned()),
        ("/late", 503, &html, long),
        // Chosen: a 403 is a block by its status, whatever its page says, unless the site is an API.
        ("/403", 403, &json, error.to_owned()),
    ];
    let sent = |site: Site| {
        let shop = Shop::of(Lab::builder().fine(1));
        for (path, code, kind, page) in &pages {
            let reply = Reply::new(status(*code)).header(CONTENT_TYPE, (*kind).clone());
            shop.world.origin().page(*path, reply.body(page.clone()));
        }
        let pages = &pages;
        async move {
            let mut outcomes = Vec::new();
            for (path, ..) in pages {
                let host = shop.world.origin().host();
                let exits = shop.world.exits();
                let scheduler =
                    Scheduler::builder().exits(exits).seed(7).site(host, site.clone()).build().unwrap();
                let stack = EgressLayer::new(&scheduler).layer(shop.world.clone());
                let get = request(Method::GET, &shop.world.tls_url(path), "", tried(1));
                outcomes.push(read(stack.oneshot(get).await.unwrap()).await.1.outcome());
            }
            outcomes
        }
    };
    let ok = Outcome::Ok;
    let as_any = [ok, ok, Outcome::Fatal, ok, Outcome::Fatal, BLOCKED, BLOCKED, BLOCKED];
    assert_eq!(sent(Site::new()).await, as_any);
    let down = Outcome::OriginError { status: status(503) };
    assert_eq!(sent(Site::api()).await, [ok, ok, ok, ok, ok, ok, down, ok]);
}

#[tokio::test(start_paused = true)]
async fn te_130_a_block_whose_page_breaks_is_one_outcome() {
    let robots = "<title>Robot Check</title><p>Enter the characters you see below</p>";
    for (code, kind) in [(403, "text/html"), (403, "image/png"), (503, "text/html"), (200, "text/html")] {
        let heat = async |cut: bool| {
            let shop = Shop::of(Lab::builder().fine(3));
            let page =
                Reply::new(status(code)).header(CONTENT_TYPE, HeaderValue::from_static(kind)).body(robots);
            // A page with a 200 counts where all of it is there.
            let cut = if code == 200 { None } else { Some(60).filter(|_| cut) };
            let page = cut.map_or_else(|| page.clone(), |at| page.clone().cut_after(at));
            shop.world.origin().page("/p", page);
            let get = request(Method::GET, &shop.world.tls_url("/p"), "", tried(1));
            let answer = shop.send(get).await.unwrap();
            let served = answer.extensions().get::<Served>().unwrap().clone();
            assert_eq!(answer.into_body().collect().await.is_err(), cut.is_some());
            assert!(matches!(served.outcome(), Outcome::Blocked { .. }), "{code} {kind}: {served:?}");
            let fleet = shop.scheduler.snapshot();
            assert_eq!((fleet.outcomes.blocked, fleet.outcomes.total()), (1, 1), "{code}");
            assert_eq!((fleet.exits.dead, fleet.in_flight, fleet.hottest.len()), (0, 0, 1));
            let elsewhere = LeaseRequest::per_request().origin("other.example");
            let usable = (0..9).any(|_| shop.scheduler.lease(&elsewhere).unwrap().exit() == served.exit());
            assert!(usable, "at other sites it is as before");
            fleet.hottest[0].heat
        };
        assert_eq!(heat(true).await, heat(false).await, "{code} {kind}: one unit");
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Fin,
    Rst,
}

/// An exit, and in its tunnels a site, that send these bytes and end so.
async fn exit(bytes: String, end: End) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            if head(&mut peer).await.starts_with("CONNECT") {
                peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                head(&mut peer).await;
            }
            peer.write_all(bytes.as_bytes()).await.unwrap();
            peer.flush().await.unwrap();
            if matches!(end, End::Rst) {
                // What was sent is read first: a reset may discard it.
                tokio::time::sleep(millis(50)).await;
                peer.set_zero_linger().unwrap();
            }
        }
    });
    address
}

async fn head(peer: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match peer.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn te_036_a_truncated_body_is_an_error_and_reaches_the_exits_heat() {
    let page = "x".repeat(400);
    let answers = [
        (format!("Content-Length: 1000\r\n\r\n{page}"), End::Fin, true),
        (format!("Content-Length: 1000\r\n\r\n{page}"), End::Rst, true),
        (format!("Transfer-Encoding: chunked\r\n\r\n190\r\n{page}\r\n"), End::Fin, true),
        (format!("Connection: close\r\n\r\n{page}"), End::Fin, false),
        (format!("Content-Length: 400\r\n\r\n{page}"), End::Rst, false),
    ];
    for (rest, end, cut) in answers {
        // The second kind is looked at before it goes up.
        for (kind, tunnel) in
            [("text/plain", false), ("text/html", false), ("text/plain", true), ("text/html", true)]
        {
            let what = format!("{kind}, tunnel: {tunnel}, {end:?}: {}", rest.lines().next().unwrap());
            let exit = exit(format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{rest}"), end).await;
            let scheduler = Scheduler::builder()
                .exits(ExitList::parse(&exit.to_string()).unwrap())
                .seed(7)
                .build()
                .unwrap();
            let client = ExitClient::builder().tunnel_http(tunnel).build().unwrap();
            let client = EgressClient::of(EgressLayer::new(&scheduler).layer(client));
            let get = Request::get("http://shop.example/p").extension(tried(1)).body(Body::empty()).unwrap();
            let answer = client.send(get).await.unwrap();
            let served = answer.extensions().get::<Served>().unwrap().clone();
            assert_eq!(answer.status(), 200);
            let (mut body, mut read, mut error) = (answer.into_body(), 0, None);
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(frame) => read += frame.into_data().map_or(0, |data| data.len()),
                    Err(broken) => error = Some(broken),
                }
            }
            drop(body);
            let expected = if cut { BROKEN } else { Outcome::Ok };
            assert_eq!((read, served.outcome()), (400, expected), "{what}");
            assert_eq!(error.and_then(|error| error.outcome()), cut.then_some(BROKEN), "{what}");
            let outcomes = scheduler.snapshot().outcomes;
            assert_eq!((outcomes.interrupted, outcomes.ok), (u64::from(cut), u64::from(!cut)), "{what}");
        }
    }
}

#[test]
fn te_098_a_small_page_that_unpacks_to_a_gibibyte_is_searched_up_to_the_cap() {
    let bomb = bomb();
    for code in [200, 403, 503] {
        let world = Lab::builder().fine(2).in_memory().unwrap();
        // Small enough to be looked at with a 200.
        let page = if code == 200 { bomb.slice(..9 << 10) } else { bomb.clone() };
        let packed = Reply::page(page.clone()).header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        world.origin().page("/p", packed.status(status(code)));
        let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build().unwrap();
        let stack = EgressLayer::new(&scheduler).layer(world.clone());
        let mut whole = 0;
        let most = peak(async {
            let answer =
                stack.oneshot(request(Method::GET, &world.tls_url("/p"), "", tried(1))).await.unwrap();
            let served = answer.extensions().get::<Served>().unwrap().clone();
            assert!(served.bytes() <= 32 << 10, "{} read ahead", served.bytes());
            let mut body = answer.into_body();
            while let Some(frame) = body.frame().await {
                whole += frame.unwrap().into_data().unwrap().len();
            }
        });
        assert!(most < 1 << 20, "{code}: {most} bytes at once");
        assert_eq!(whole, page.len(), "{code}: packed as it came");
    }
}
