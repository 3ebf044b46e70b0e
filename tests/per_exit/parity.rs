//! What both clients do on sockets, and what they do not say: the table of the README.

use crate::clients::{KINDS, Kind};
use crate::world::{World, closing_on_the_second_request, outcomes, request, settle, within};
use http::header::PROXY_AUTHENTICATE;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use std::error::Error as _;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;
use tower_egress::Outcome;
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, Provider, Reply};
use tower_egress::outcome::Phase;

const NOT_REACHED: Outcome = Outcome::ProxyError { phase: Phase::ExitTcp };
/// A refused tunnel and TLS that failed are one to these clients.
const NOT_CONNECTED: Outcome = Outcome::ProxyError { phase: Phase::OriginTls };

#[tokio::test]
async fn a_hundred_requests_leave_through_the_exits_their_leases_name_and_reuse_their_connections() {
    let login = Credential::new("the-user", "p@ss: w/rd").unwrap();
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().exits(5, Behaviour::fine().login(login.clone()))).await;
        let mut used = [[false; 2]; 5];
        for number in 0..100 {
            let url = if number % 2 == 0 { world.lab.url("/p") } else { world.lab.tls_url("/p") };
            let (status, served) = world.fetch(Method::GET, &url).await.unwrap();
            let exit = world.place(served.exit());
            assert_eq!((status, served.attempts()), (200, 1));
            let seen = world.lab.origin().seen().pop().unwrap();
            assert_eq!(seen.peer(), world.lab.exit(exit).source(), "{kind:?}: another exit than the lease's");
            assert!(
                !seen.headers().contains_key("proxy-authorization"),
                "the exit's login is not the origin's"
            );
            used[exit][number % 2] = true;
        }
        for (exit, used) in used.iter().enumerate() {
            assert_eq!(used, &[true; 2], "100 draws over 5 exits");
            let traffic = world.lab.exit(exit).traffic();
            assert_eq!((traffic.connections, traffic.connects), (2, 1), "{kind:?}: one plain, one tunnel");
        }
        assert_eq!(world.clients.len(), 5);
    }
}

#[tokio::test]
async fn a_dead_exit_is_retried_through_another_whatever_the_method() {
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().fine(1).dead(1)).await;
        let (mut met, urls) = (0, [world.lab.url("/p"), world.lab.tls_url("/p")]);
        for number in 0..8 {
            let (status, served) = world.fetch(Method::POST, &urls[number % 2]).await.unwrap();
            assert_eq!(status, 200, "{kind:?}");
            if served.attempts() > 1 {
                assert_eq!(outcomes(&served), [NOT_REACHED, Outcome::Ok], "{kind:?}");
                met += 1;
            }
        }
        assert!(met > 0, "the dead exit was drawn");
        assert_eq!(world.lab.origin().requests(), 8, "nothing arrived twice");
    }
}

/// `ExitClient` tells these apart: an overloaded gateway, a denied target, a refused login. Here the answer's head is lost
/// before the client can be asked, and no more is proven than that nothing was sent.
#[tokio::test]
async fn a_refused_connect_is_blind() {
    let busy = Reply::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_secs(9));
    let login = Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED)
        .header(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic"));
    for kind in KINDS {
        for (reply, said) in [
            (busy.clone(), "unsuccessful"),
            (Reply::new(StatusCode::FORBIDDEN), "unsuccessful"),
            (Reply::new(StatusCode::BAD_GATEWAY), "unsuccessful"),
            (login.clone(), "proxy authorization required"),
        ] {
            let world =
                World::start(kind, Lab::builder().exits(2, Behaviour::fine().answer_connect(reply))).await;
            let error = world.fetch(Method::POST, &world.lab.tls_url("/p")).await.unwrap_err();
            let attempts: Vec<_> = error.attempts().iter().map(|attempt| attempt.outcome).collect();
            assert_eq!(
                attempts, [NOT_CONNECTED; 2],
                "{kind:?}: one other exit is tried, as for a denied target"
            );
            let causes = std::iter::successors(error.source(), |cause| (*cause).source());
            let said_all: Vec<_> = causes.map(ToString::to_string).collect();
            assert_eq!(said_all.last().unwrap(), &format!("tunnel error: {said}"), "{kind:?}: {said_all:?}");
            assert!(
                !said_all.concat().contains(|c: char| c.is_ascii_digit()),
                "a status after all: {said_all:?}"
            );
            assert_eq!(world.scheduler.snapshot().exits.suspect, 0, "no login is doubted");
        }
    }
}

/// On plain http the proxy's answer is an answer: nothing is lost.
#[tokio::test]
async fn a_refused_login_is_told_over_plain_http() {
    for kind in KINDS {
        let lab = Lab::builder().exits(2, Behaviour::fine()).start().await.unwrap();
        for exit in 0..2 {
            lab.exit(exit).behave(Behaviour::fine().login(Credential::new("a", "b").unwrap())).unwrap();
        }
        let exits = lab.exits();
        let world = World::over(kind, lab, exits);
        let (status, served) = world.fetch(Method::GET, &world.lab.url("/p")).await.unwrap();
        assert_eq!(status, 407, "{kind:?}");
        assert!(matches!(served.outcome(), Outcome::AuthError { .. }), "{kind:?}: {:?}", served.outcome());
    }
}

#[tokio::test]
async fn a_site_whose_certificate_is_not_trusted_is_tried_through_one_other_exit() {
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().fine(3)).await;
        let stranger = Lab::builder().start().await.unwrap();
        let strange = crate::clients::trust(stranger.ca_pem());
        let make = move |route: &_| kind.client(route, &strange);
        let world = World { clients: tower_egress::PerExit::new(make), ..world };
        let error = world.fetch(Method::GET, &world.lab.tls_url("/p")).await.unwrap_err();
        assert_eq!(error.outcome(), Some(NOT_CONNECTED));
        assert_eq!((error.attempts().len(), world.lab.origin().requests()), (2, 0), "{kind:?}");
    }
}

#[tokio::test]
async fn a_connection_that_died_while_it_idled_is_replaced_unseen() {
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().fine(1)).await;
        for url in [world.lab.url("/p"), world.lab.tls_url("/p")] {
            for _ in 0..2 {
                let (status, served) = world.fetch(Method::POST, &url).await.unwrap();
                assert_eq!((status, served.attempts()), (200, 1), "{kind:?}");
                let exit = world.lab.exit(0);
                exit.kill();
                settle().await;
                exit.heal().unwrap();
            }
        }
        assert_eq!(world.lab.exit(0).traffic().connections, 4, "{kind:?}: a new one each time");
    }
}

/// The race that looks cannot win. `ExitClient` sends such a GET again by itself and blames nobody; here it is a broken
/// exchange, and a second attempt.
#[tokio::test]
async fn a_kept_connection_that_closes_under_a_request_counts_as_a_broken_exchange() {
    let broken = Outcome::Interrupted { phase: Phase::Head };
    for kind in KINDS {
        let lab = Lab::builder().start().await.unwrap();
        let world = World::over(kind, lab, closing_on_the_second_request().await);
        let url = "http://shop.test/p";
        assert_eq!(world.fetch(Method::GET, url).await.unwrap().1.attempts(), 1);
        let (status, served) = world.fetch(Method::GET, url).await.unwrap();
        assert_eq!((status, outcomes(&served)), (200, vec![broken, Outcome::Ok]), "{kind:?}");
        let error = world.fetch(Method::POST, url).await.unwrap_err();
        assert_eq!(
            (error.outcome(), error.attempts().len()),
            (Some(broken), 1),
            "{kind:?}: it may have arrived"
        );
    }
}

#[tokio::test]
async fn behind_a_rotating_gateway_each_request_has_a_client_of_its_own() {
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().gateway(Provider::rotating())).await;
        let page = vec![b'x'; 300_000];
        world.lab.origin().page("/p", Reply::page(page.clone()));
        for number in 0..6 {
            let url = if number % 2 == 0 { world.lab.url("/p") } else { world.lab.tls_url("/p") };
            let answer = world.send(request(Method::GET, &url)).await.unwrap();
            let read = within(answer.into_body().collect()).await.unwrap().to_bytes();
            assert!(read == page, "{kind:?}: the page outlives its client");
        }
        assert_eq!(world.clients.len(), 0);
        assert_eq!(world.lab.gateway().traffic().connections, 6, "{kind:?}");
        let peers: std::collections::BTreeSet<_> =
            world.lab.origin().seen().iter().map(|seen| seen.peer()).collect();
        assert_eq!(peers.len(), 6, "{kind:?}: another address each");
    }
}

#[tokio::test]
async fn a_request_dropped_on_its_way_gives_its_lease_back_once() {
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().fine(1)).await;
        world.lab.origin().page("/hangs", Reply::hang());
        for url in [world.lab.url("/hangs"), world.lab.tls_url("/hangs")] {
            let before = world.lab.origin().requests();
            let under_way = async {
                while world.lab.origin().requests() == before {
                    tokio::task::yield_now().await;
                }
                assert_eq!(world.scheduler.snapshot().in_flight, 1);
            };
            tokio::select! {
                answer = world.send(request(Method::GET, &url)) => panic!("{answer:?}"),
                () = within(under_way) => {}
            }
            let snapshot = world.scheduler.snapshot();
            assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "{kind:?}");
        }
        let (status, _) = world.fetch(Method::GET, &world.lab.url("/p")).await.unwrap();
        let snapshot = world.scheduler.snapshot();
        assert_eq!((status, snapshot.leases, snapshot.outcomes.ok), (200, 3, 1));
        assert_eq!(snapshot.outcomes.attempts(), 1, "{kind:?}: who goes blames nobody");
    }
}

/// The mapping matters: unmapped errors prove nothing, so a POST that never left is not sent again.
#[tokio::test]
async fn without_a_failure_in_its_chain_an_error_proves_nothing() {
    let world = World::start(Kind::Reqwest, Lab::builder().dead(1)).await;
    let tls = crate::clients::trust(world.lab.ca_pem());
    let bare = tower_egress::PerExit::new(move |route: &tower_egress::exit::Route| {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .proxy(reqwest::Proxy::all(route.url())?)
            .build()?;
        Ok(tower::service_fn(move |request: crate::clients::Asked| {
            let client = client.clone();
            async move {
                let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap))?;
                client.execute(request).await.map(http::Response::from)
            }
        }))
    });
    let stack = tower::Layer::layer(&tower_egress::EgressLayer::new(&world.scheduler), bare);
    let error = stack.oneshot(request(Method::POST, &world.lab.url("/p"))).await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
    assert_eq!(error.attempts().len(), 1);
}

/// Why there is one client per exit: where the proxy is asked for, only new connections ask.
#[tokio::test]
async fn one_client_with_a_rotating_proxy_stays_with_the_first() {
    let lab = Lab::builder().fine(2).start().await.unwrap();
    let proxies = [0, 1].map(|at| reqwest::Url::parse(&lab.exit(at).exit().route().url()).unwrap());
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let rotate = move |_: &reqwest::Url| {
        let at = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2;
        Some(proxies[at].clone())
    };
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(crate::clients::trust(lab.ca_pem()))
        .proxy(reqwest::Proxy::custom(rotate))
        .build()
        .unwrap();
    for _ in 0..4 {
        let page = client.get(lab.tls_url("/p")).send().await.unwrap();
        within(page.bytes()).await.unwrap();
        settle().await;
    }
    let peers: std::collections::BTreeSet<_> = lab.origin().seen().iter().map(|seen| seen.peer()).collect();
    assert_eq!(peers.len(), 1, "four requests, two proxies in turn, one address");
}

/// Bytes right behind the proxy's 200 are the origin's. Nothing that speaks TLS is the first to speak, so HTTP loses none.
#[tokio::test]
async fn what_comes_with_the_answer_to_a_connect_is_lost() {
    use hyper_util::client::legacy::connect::{HttpConnector, proxy::Tunnel};
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let answer = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        assert_ne!(peer.read(&mut [0; 1024]).await.unwrap(), 0);
        peer.write_all(b"HTTP/1.1 200 OK\r\n\r\nearly").await.unwrap();
        settle().await;
        peer.write_all(b"late").await.unwrap();
    };
    let open = async {
        let tunnel = Tunnel::new(proxy, HttpConnector::new());
        let mut stream = tunnel.oneshot("https://shop.test".parse().unwrap()).await.unwrap();
        let mut read = Vec::new();
        hyper_util::rt::TokioIo::new(&mut stream).read_buf(&mut read).await.unwrap();
        read
    };
    let (open, ()) = within(async { tokio::join!(open, answer) }).await;
    assert_eq!(open, b"late");
}
