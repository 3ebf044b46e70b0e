//! Requests that end early: cancelled anywhere, or by their deadline.

use crate::shop::*;
use bytes::Bytes;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::BodyExt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{Layer, Service};
use tower_egress::exit::ExitList;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::outcome::Phase;
use tower_egress::{
    Body, EgressClient, EgressLayer, ExitClient, LeaseError, LeaseRequest, Outcome, Scheduler,
};

/// A request body that begins and never ends.
struct Endless(Option<&'static str>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let begun = self.0.take().map(|data| Ok(Frame::data(Bytes::from_static(data.as_bytes()))));
        begun.map_or(Poll::Pending, |frame| Poll::Ready(Some(frame)))
    }
}

#[tokio::test(start_paused = true)]
async fn te_021_a_call_cancelled_at_any_stage_gives_its_lease_back() {
    // Chosen: there is no line to wait in, and exits have no limit of their own; so the other stages, a pool of one, and the
    // count of leases that are out.
    let hang = || Behaviour::fine().answer_connect(Reply::hang());
    let endless = || Body::new(Endless(Some("begun")));
    let stages: [(_, _, fn() -> Body, _); 5] = [
        ("dialling", Behaviour::slow(secs(60)), Body::empty, "/p"),
        ("tunnel", hang(), Body::empty, "/p"),
        ("sending", Behaviour::fine(), endless, "/p"),
        ("head", Behaviour::fine(), Body::empty, "/hangs"),
        ("between attempts", Behaviour::fine(), Body::empty, "/fails"),
    ];
    for (stage, behaviour, body, path) in stages {
        let shop = Shop::of(Lab::builder().exit(behaviour));
        shop.world.origin().page("/hangs", Reply::hang());
        shop.world.origin().page("/fails", Reply::new(http::StatusCode::SERVICE_UNAVAILABLE));
        for round in 0..200 {
            let uri = shop.world.tls_url(path);
            let ask = LeaseRequest::per_request();
            let request = Request::put(uri).extension(ask).body(body()).unwrap();
            let cut = timeout(millis(round % 7 * 100 + 1), shop.send(request)).await;
            assert!(cut.is_err(), "{stage} {round}: it was to be cut");
            let snapshot = shop.scheduler.snapshot();
            assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "{stage} {round}");
            let free = shop.scheduler.lease(&LeaseRequest::per_request().origin("shop.test"));
            free.unwrap_or_else(|refused| panic!("{stage} {round}: {refused}")).report(Outcome::Ok);
            // A retry that is given up keeps its turn, of which there are two a second.
            sleep(millis(500)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn te_021_the_lease_ends_with_the_body_whether_it_is_read_or_dropped() {
    let shop = Shop::of(Lab::builder().fine(1));
    shop.world.origin().page("/p", Reply::page("0123456789").stall_after(4));
    let mut finished = JoinSet::new();
    for round in 0..1_000 {
        let request = request(Method::GET, &shop.world.tls_url("/p"), "", LeaseRequest::per_request());
        let mut answer = shop.send(request).await.unwrap();
        assert_eq!(shop.scheduler.snapshot().in_flight, 1, "the page is still to be read");
        if round % 2 == 0 {
            assert_eq!(answer.frame().await.unwrap().unwrap().into_data().unwrap(), "0123");
            assert!(timeout(millis(50), answer.frame()).await.is_err());
        }
        let served = answer.extensions().get::<tower_egress::Served>().unwrap().clone();
        drop(answer);
        // What only knows of the lease keeps it from nothing.
        finished.spawn(async move { served });
        assert_eq!(shop.scheduler.snapshot().in_flight, 0, "round {round}");
    }
    tokio::task::yield_now().await;
    assert_eq!((finished.len(), shop.scheduler.snapshot().leases), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn te_021_a_callers_closure_that_panics_takes_no_lease_along() {
    let shop = Shop::of(Lab::builder().fine(1));
    let layer = EgressLayer::new(&shop.scheduler).with(|_| panic!("the caller's"));
    let mut stack = layer.layer(shop.world.clone());
    for _ in 0..20 {
        let bare = Request::get(shop.world.tls_url("/p")).body(Body::empty()).unwrap();
        let thrown = catch_unwind(AssertUnwindSafe(|| drop(stack.call(bare))));
        assert!(thrown.is_err());
        assert_eq!((shop.scheduler.snapshot().in_flight, shop.scheduler.snapshot().leases), (0, 0));
    }
    assert_eq!(shop.fetch(LeaseRequest::per_request()).await.unwrap().0, 200);
}

#[tokio::test(start_paused = true)]
async fn te_031_with_every_exit_mute_all_callers_end_by_their_deadline() {
    let mute = Behaviour::fine().answer_connect(Reply::hang());
    for behaviour in [mute, Behaviour::slow(secs(600))] {
        let shop = Shop::of(Lab::builder().exits(25, behaviour));
        let start = now();
        let mut callers = JoinSet::new();
        for _ in 0..10 {
            let ask = LeaseRequest::per_request().deadline(secs(2));
            let request = request(Method::GET, &shop.world.tls_url("/p"), "", ask);
            callers.spawn(shop.stack.clone().oneshot(request));
        }
        for answer in callers.join_all().await {
            let error = answer.unwrap_err();
            assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }), "{error}");
        }
        let took = now() - start;
        assert!(took >= secs(2) && took <= millis(2_001), "{took:?}");
        assert_eq!(shop.scheduler.snapshot().in_flight, 0);
        let asked: u64 = (0..25).map(|exit| shop.asked(exit)).sum();
        assert_eq!(asked, 10, "nobody tried again and again");
    }
}

#[tokio::test(start_paused = true)]
async fn te_031_with_every_exit_dead_all_callers_end_by_their_deadline() {
    let shop = Shop::of(Lab::builder().dead(25));
    let start = now();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let ask = LeaseRequest::per_request().deadline(secs(2));
        let request = request(Method::GET, &shop.world.tls_url("/p"), "", ask);
        callers.spawn(shop.stack.clone().oneshot(request));
    }
    for answer in callers.join_all().await {
        let error = answer.unwrap_err();
        let refused = matches!(error.refusal(), Some(LeaseError::NoUsableExit { .. }));
        assert!(refused || error.outcome() == Some(Outcome::ProxyError { phase: Phase::ExitTcp }), "{error}");
    }
    assert!(now() - start <= millis(2_001));
    assert_eq!((shop.scheduler.snapshot().in_flight, shop.seen().len()), (0, 0));
    assert!(shop.scheduler.snapshot().leases <= 400, "four each at most");
}

#[tokio::test]
async fn te_031_a_client_that_is_dropped_leaves_no_socket_open() {
    // Of the five that dial for TLS all wait for one, whose connection they might share.
    for (http2, connections) in [(false, 10), (true, 6)] {
        let exits = ExitClient::builder().http2(http2).build().unwrap();
        leaves_no_socket_open(exits, connections).await;
    }
}

async fn leaves_no_socket_open(exits: ExitClient, connections: usize) {
    let proxy = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let list = ExitList::parse(&proxy.local_addr().unwrap().to_string()).unwrap();
    let scheduler = Scheduler::builder().exits(list).seed(7).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(exits));
    let mut callers = JoinSet::new();
    for url in ["http://shop.test/", "https://shop.test/"].into_iter().cycle().take(10) {
        let client = client.clone();
        let ask = LeaseRequest::per_request().deadline(millis(500));
        callers.spawn(async move { client.send(request(Method::GET, url, "", ask)).await.err().unwrap() });
    }
    drop(client);
    let mut sockets = Vec::new();
    for _ in 0..connections {
        sockets.push(timeout(secs(5), proxy.accept()).await.expect("so many are opened").unwrap().0);
    }
    for error in callers.join_all().await {
        assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }), "{error}");
    }
    for mut socket in sockets {
        let mut asked = Vec::new();
        let ends = timeout(secs(5), socket.read_to_end(&mut asked)).await;
        ends.expect("each connection is closed").unwrap();
        assert!(asked.starts_with(b"GET http://") || asked.starts_with(b"CONNECT "));
    }
    assert_eq!(scheduler.snapshot().in_flight, 0);
}
