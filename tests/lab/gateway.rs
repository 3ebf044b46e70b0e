//! Gateways: spoken to with raw requests, and in memory through the layers.

use http::{Request, StatusCode};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Layer;
use tower_egress::exit::Credential;
use tower_egress::lab::{Lab, LabGateway, MAX_GATEWAYS, MemoryWorld, Mood, Provider, Reply};
use tower_egress::{EgressLayer, Gateway, LeaseRequest, Scheduler};

/// Longer than any answer takes, shorter than a silent connection lasts.
const SILENCE: Duration = Duration::from_millis(100);

/// One request over a connection of its own, and the answer up to the end of the connection.
async fn fetch(gateway: &LabGateway, user: &str, password: &str, url: &str) -> std::io::Result<String> {
    say(gateway, &format!("GET {url} HTTP/1.1\r\n{}Connection: close\r\n\r\n", login(user, password))).await
}

fn login(user: &str, password: &str) -> String {
    let login = Credential::new(user, password).unwrap();
    format!("Proxy-Authorization: {}\r\n", login.basic().unwrap().to_str().unwrap())
}

async fn say(gateway: &LabGateway, text: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(gateway.address()).await?;
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The status of a page fetched with a token.
async fn status(lab: &Lab, token: &str) -> u16 {
    let answer = fetch(lab.gateway(), &format!("user-{token}"), "pw", &lab.url("/p")).await.unwrap();
    answer["HTTP/1.1 ".len()..][..3].parse().unwrap()
}

/// The status of a refused CONNECT.
async fn connect(lab: &Lab, token: &str) -> u16 {
    let ask = format!("CONNECT shop.test:443 HTTP/1.1\r\n{}\r\n", login(&format!("user-{token}"), "pw"));
    let mut stream = TcpStream::connect(lab.gateway().address()).await.unwrap();
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

async fn start(provider: Provider) -> Lab {
    Lab::builder().gateway(provider).start().await.unwrap()
}

fn busy(status: StatusCode) -> Reply {
    Reply::new(status).retry_after(Duration::from_secs(7))
}

#[tokio::test]
async fn a_token_has_an_address_of_its_own_and_keeps_it() {
    let lab = start(Provider::sessions()).await;
    for token in ["b", "a", "b", "c", "b"] {
        assert_eq!(status(&lab, token).await, 200);
    }
    assert_eq!(connect(&lab, "a").await, 200);
    let seen: Vec<_> = lab.origin().seen().iter().map(|seen| seen.peer().to_string()).collect();
    assert_eq!(seen, ["127.1.1.1", "127.1.1.2", "127.1.1.1", "127.1.1.3", "127.1.1.1"]);
    let gateway = lab.gateway();
    let sessions = gateway.sessions();
    let told: Vec<_> = sessions.iter().map(|session| (session.token(), session.requests())).collect();
    assert_eq!(told, [("b", 3), ("a", 2), ("c", 1)]);
    assert_eq!(gateway.address_of("a"), Some(gateway.egress(1)));
    assert_eq!(gateway.address_of("d"), None);
    let traffic = gateway.traffic();
    assert_eq!((traffic.connections, traffic.requests, traffic.connects), (6, 5, 1));
    assert!(traffic.bytes_in > 0 && traffic.bytes_out > 0);
    assert_eq!((gateway.passed(), gateway.refusals().len()), (6, 0));
    let owner = lab.gateway_at(lab.origin().seen()[0].peer());
    assert!(owner.is_some_and(|owner| owner.address() == gateway.address()));
    assert!(lab.gateway_at(gateway.address().ip()).is_none(), "where it listens nobody leaves");
    let headers = lab.origin().seen()[0].headers().clone();
    assert!(!headers.contains_key("proxy-authorization"));
}

#[tokio::test]
async fn more_tokens_than_addresses_share_them() {
    let lab = start(Provider::sessions().addresses(2)).await;
    for token in ["a", "b", "c"] {
        assert_eq!(status(&lab, token).await, 200);
    }
    let gateway = lab.gateway();
    assert_eq!(gateway.address_of("a"), gateway.address_of("c"));
    assert_ne!(gateway.address_of("a"), gateway.address_of("b"));
    assert!(gateway.owns(gateway.egress(1)) && !gateway.owns("127.1.1.3".parse().unwrap()));
}

#[tokio::test]
async fn the_token_is_found_by_the_template_and_nothing_else_is_let_in() {
    let lab = start(Provider::sessions().login("cust-omer", "p@ss_{session}_x")).await;
    let (gateway, url) = (lab.gateway(), lab.url("/p"));
    let ok = fetch(gateway, "cust-omer", "p@ss_t1_x", &url).await.unwrap();
    assert!(ok.starts_with("HTTP/1.1 200"), "{ok}");
    assert_eq!(gateway.sessions()[0].token(), "t1");
    for (user, password) in [
        ("cust-omer", "p@ss__x"),
        ("cust-omer", "p@ss_t1"),
        ("cust-omer", "t1"),
        ("customer", "p@ss_t1_x"),
        ("cust-omer-", "p@ss_t1_x"),
    ] {
        let refused = fetch(gateway, user, password, &url).await.unwrap();
        assert!(refused.starts_with("HTTP/1.1 407") && refused.contains("proxy-authenticate: Basic"));
    }
    let none = say(gateway, &format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n")).await.unwrap();
    assert!(none.starts_with("HTTP/1.1 407"), "{none}");
    assert_eq!(gateway.traffic().refused_logins, 6);
    assert_eq!(gateway.refusals()[&StatusCode::PROXY_AUTHENTICATION_REQUIRED], 6);
    assert_eq!((gateway.passed(), gateway.sessions().len(), lab.origin().requests()), (1, 1, 1));
    // What it says of itself is what the crate reads.
    let read = Gateway::parse(&gateway.template()).unwrap();
    assert!(!format!("{gateway:?} {read:?} {lab:?} {:?}", gateway.sessions()).contains("p@ss"));
    assert!(!format!("{:?}", gateway.sessions()).contains("t1"));
}

#[tokio::test]
async fn a_rotating_gateway_leaves_from_another_address_for_each_connection() {
    let lab = start(Provider::rotating().addresses(3)).await;
    let (gateway, url) = (lab.gateway(), lab.url("/p"));
    for _ in 0..4 {
        fetch(gateway, "user", "pw", &url).await.unwrap();
    }
    // Two requests over one connection are from one address.
    let login = login("user", "pw");
    let twice =
        format!("GET {url} HTTP/1.1\r\n{login}\r\nGET {url} HTTP/1.1\r\n{login}Connection: close\r\n\r\n");
    say(gateway, &twice).await.unwrap();
    let seen: Vec<_> = lab.origin().seen().iter().map(|seen| seen.peer()).collect();
    let expected: Vec<_> = [0, 1, 2, 0, 1, 1].map(|at| gateway.egress(at)).into();
    assert_eq!(seen, expected);
    assert!(gateway.sessions().is_empty());
    assert!(Gateway::rotating(&gateway.template()).is_ok());
}

#[tokio::test]
async fn a_mood_meets_all_the_first_or_a_share() {
    let lab = start(Provider::sessions()).await;
    let gateway = lab.gateway();
    for refusal in [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE] {
        gateway.behave(Mood::answers(busy(refusal))).unwrap();
        assert_eq!((connect(&lab, "a").await, status(&lab, "a").await), (refusal.as_u16(), refusal.as_u16()));
        assert_eq!(gateway.refusals()[&refusal], 2);
    }
    assert!(gateway.sessions().is_empty() && lab.origin().connections() == 0);
    let answer = fetch(gateway, "user-a", "pw", &lab.url("/p")).await.unwrap();
    assert!(answer.contains("retry-after: 7\r\n"), "{answer}");

    gateway.behave(Mood::login_refused().first(2)).unwrap();
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(status(&lab, "a").await);
    }
    assert_eq!(told, [407, 407, 200, 200]);
    assert_eq!(gateway.traffic().refused_logins, 0, "the login was right");

    gateway.behave(Mood::answers(busy(StatusCode::BAD_GATEWAY)).percent(25)).unwrap();
    let mut told = Vec::new();
    for _ in 0..8 {
        told.push(connect(&lab, "a").await);
    }
    assert_eq!(told, [200, 200, 200, 502, 200, 200, 200, 502]);
    assert_eq!(gateway.passed(), 2 + 6);
}

#[tokio::test]
async fn a_gateway_hangs_resets_dies_and_returns() {
    let lab = start(Provider::sessions()).await;
    let gateway = lab.gateway();
    gateway.behave(Mood::answers(Reply::hang())).unwrap();
    assert!(timeout(SILENCE, status(&lab, "a")).await.is_err());
    gateway.behave(Mood::answers(Reply::reset())).unwrap();
    let reset = fetch(gateway, "user-a", "pw", &lab.url("/p")).await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    gateway.behave(Mood::dead()).unwrap();
    let refused = TcpStream::connect(gateway.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    gateway.behave(Mood::fine()).unwrap();
    assert_eq!(status(&lab, "a").await, 200);
    assert!(gateway.refusals().is_empty(), "none of it was an answer");
    gateway.behave(Mood::fine().slow(SILENCE)).unwrap();
    assert!(timeout(SILENCE / 2, status(&lab, "a")).await.is_err());

    let unborn = Lab::builder().gateway(Provider::sessions().mood(Mood::dead())).start().await.unwrap();
    assert!(TcpStream::connect(unborn.gateway().address()).await.is_err());
    drop(lab);
}

#[tokio::test]
async fn one_session_fails_and_the_others_do_not() {
    let lab = start(Provider::sessions()).await;
    let gateway = lab.gateway();
    gateway.behave_session("dead", Mood::dead());
    gateway.behave_session("busy", Mood::answers(busy(StatusCode::BAD_GATEWAY)).first(1));
    let reset = fetch(gateway, "user-dead", "pw", &lab.url("/p")).await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    assert_eq!((status(&lab, "busy").await, status(&lab, "busy").await), (502, 200));
    assert_eq!(status(&lab, "fine").await, 200);
    lab.origin().ban(gateway.address_of("fine").unwrap());
    assert_eq!((status(&lab, "fine").await, status(&lab, "busy").await), (403, 200));
    gateway.behave_session("dead", Mood::fine());
    assert_eq!(status(&lab, "dead").await, 200);
}

#[tokio::test]
async fn a_new_password_shuts_the_old_one_out() {
    let lab = start(Provider::sessions()).await;
    lab.gateway().set_login("user-{session}", "new").unwrap();
    assert_eq!(status(&lab, "a").await, 407);
    let answer = fetch(lab.gateway(), "user-a", "new", &lab.url("/p")).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(lab.gateway().template().contains(":new@"));
    let wrong = lab.gateway().set_login("user", "new").unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn bad_gateways_are_refused() {
    let many = (0..=MAX_GATEWAYS).fold(Lab::builder(), |lab, _| lab.gateway(Provider::rotating()));
    for builder in [
        Lab::builder().gateway(Provider::sessions().login("user", "pw")),
        Lab::builder().gateway(Provider::sessions().login("u-{session}", "{session}")),
        Lab::builder().gateway(Provider::sessions().login("{session}-{session}", "pw")),
        Lab::builder().gateway(Provider::rotating().login("user-{session}", "pw")),
        Lab::builder().gateway(Provider::rotating().login("", "")),
        many,
    ] {
        assert_eq!(builder.clone().start().await.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(builder.in_memory().unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

fn world() -> (MemoryWorld, Scheduler) {
    let world = Lab::builder().fine(1).gateway(Provider::sessions()).gateway(Provider::rotating());
    let world = world.in_memory().unwrap();
    let gateway = Gateway::parse(&world.gateway().template()).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).seed(7).build().unwrap();
    (world, scheduler)
}

/// A page through the layers: its status, and from where the site saw it.
async fn page(world: &MemoryWorld, scheduler: &Scheduler, ask: LeaseRequest) -> (u16, Option<IpAddr>) {
    let before = world.origin().requests();
    let request = Request::get(world.url("/p")).extension(ask).body(String::new()).unwrap();
    let answer = EgressLayer::new(scheduler).layer(world.clone()).oneshot(request).await.unwrap();
    let seen = world.origin().seen();
    let peer = (world.origin().requests() > before).then(|| seen[seen.len() - 1].peer());
    (answer.status().as_u16(), peer)
}

#[tokio::test(start_paused = true)]
async fn in_memory_a_held_key_keeps_its_address_and_a_burned_one_gets_another() {
    let (world, scheduler) = world();
    let ask = || LeaseRequest::new("sku-1");
    let (first, peer) = page(&world, &scheduler, ask()).await;
    assert_eq!((first, peer), (200, Some(world.gateway().egress(0))));
    assert_eq!(page(&world, &scheduler, ask()).await, (200, peer));
    world.origin().ban(world.gateway().egress(0));
    let (status, moved) = page(&world, &scheduler, ask()).await;
    assert_eq!(status, 200, "another session has served it");
    assert_ne!(moved, peer);
    assert_eq!(page(&world, &scheduler, ask()).await, (200, moved));
    assert!(world.origin().peers().keys().all(|peer| world.gateway().owns(*peer)), "nothing went direct");
}

#[tokio::test(start_paused = true)]
async fn in_memory_moods_and_logins_hold_as_on_sockets() {
    let ask = LeaseRequest::per_request;
    for change in [
        |gateway: &LabGateway| gateway.behave(Mood::login_refused()),
        |gateway: &LabGateway| gateway.set_login("user-{session}", "new"),
    ] {
        let (world, scheduler) = world();
        change(world.gateway()).unwrap();
        assert_eq!(page(&world, &scheduler, ask()).await, (407, None));
        // Over plain http the site may have forged it: the login is not stopped, and tried again by itself.
        assert_eq!((world.gateway().passed(), world.gateway().traffic().requests), (0, 4));
    }

    let (world, _) = world();
    let rotating = &world.gateways()[1];
    let gateway = Gateway::rotating(&rotating.template()).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).seed(7).build().unwrap();
    let mut peers = BTreeSet::new();
    for _ in 0..3 {
        peers.extend(page(&world, &scheduler, ask()).await.1);
    }
    assert_eq!(peers, (0..3).map(|at| rotating.egress(at)).collect());
    assert_eq!(world.gateway_at(rotating.egress(0)).map(LabGateway::address), Some(rotating.address()));
}
