//! What is kept, for whom, and how much: without sockets.

use crate::clients::BoxError;
use http::{Request, Response};
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tower::{Layer as _, Service, ServiceExt as _};
use tower_egress::exit::{Exit, Route};
use tower_egress::outcome::{Failure, Phase, Seen};
use tower_egress::per_exit::PerExitError;
use tower_egress::{EgressLayer, ExitList, LeaseRequest, Outcome, PerExit, Scheduler};

/// Answers with its number. However many clones there are of it, `alive` has one reference more.
#[derive(Clone)]
struct Numbered {
    number: usize,
    _life: Arc<Life>,
}

struct Life(#[expect(dead_code, reason = "counted")] Arc<()>);

impl<B> Service<Request<B>> for Numbered {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new(self.number.to_string())))
    }
}

#[derive(Clone, Default)]
struct Factory {
    made: Arc<AtomicUsize>,
    alive: Arc<()>,
}

impl Factory {
    fn make(&self) -> Numbered {
        Numbered {
            number: self.made.fetch_add(1, Ordering::Relaxed),
            _life: Arc::new(Life(self.alive.clone())),
        }
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// How many clients live, in `make`'s copy of this and the test's.
    fn alive(&self) -> usize {
        Arc::strong_count(&self.alive) - 2
    }
}

fn route(spec: &str) -> Route {
    Exit::parse(spec).unwrap().route().clone()
}

fn through(route: &Route) -> Request<String> {
    Request::builder().extension(route.clone()).body(String::new()).unwrap()
}

/// Which client answered.
async fn ask<S>(clients: &S, route: &Route) -> usize
where
    S: Service<Request<String>, Response = Response<String>, Error = PerExitError> + Clone,
{
    clients.clone().oneshot(through(route)).await.unwrap().into_body().parse().unwrap()
}

#[tokio::test]
async fn never_more_than_its_bound_are_kept_under_ten_thousand_exits() {
    let factory = Factory::default();
    let (made, max) = (factory.clone(), NonZeroUsize::new(16).unwrap());
    let clients = PerExit::new(move |_: &Route| Ok(made.make())).max_clients(max);
    let list: String = (0..10_000).map(|at| format!("10.0.{}.{}:8080\n", at / 250, at % 250)).collect();
    let scheduler = Scheduler::builder().exits(ExitList::parse(&list).unwrap()).seed(7).build().unwrap();
    let stack = EgressLayer::new(&scheduler).layer(clients.clone());
    for _ in 0..2_000 {
        let request = Request::get("https://shop.example/").extension(LeaseRequest::per_request());
        stack.clone().oneshot(request.body(String::new()).unwrap()).await.unwrap();
        assert!(clients.len() <= 16 && factory.alive() == clients.len(), "{} live", factory.alive());
    }
    assert_eq!((clients.len(), scheduler.snapshot().in_flight), (16, 0));
    assert!(factory.made() > 1_700, "10,000 exits are hardly drawn twice: {}", factory.made());
}

#[tokio::test]
async fn clones_share_clients_and_a_new_password_never_meets_an_old_one() {
    let factory = Factory::default();
    let make = factory.clone();
    let clients = PerExit::new(move |_: &Route| Ok(make.make()));
    let (old, new) = (route("http://user:old@gw.example:7000"), route("http://user:new@gw.example:7000"));
    assert_eq!(old.exit(), new.exit(), "a password is no part of an exit's name");
    assert_eq!((ask(&clients, &old).await, ask(&clients.clone(), &old).await), (0, 0));
    assert_eq!((ask(&clients, &new).await, ask(&clients, &new).await), (1, 1));
    assert_eq!((clients.len(), factory.alive()), (1, 1), "the old one is gone");

    assert_eq!(ask(&clients, &route("gw.example:7001")).await, 2);
    assert!(clients.evict(new.exit()) && !clients.evict(new.exit()));
    assert_eq!((clients.len(), factory.alive(), ask(&clients, &new).await), (1, 1, 3));
}

/// Both are in `make` at once: nothing is locked, and neither waits for the other.
#[test]
fn two_that_meet_a_missing_client_both_make_one_and_share_the_first() {
    let (factory, inside) = (Factory::default(), AtomicUsize::new(0));
    let make = factory.clone();
    let clients = PerExit::new(move |_: &Route| {
        inside.fetch_add(1, Ordering::SeqCst);
        let met = (0..20_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            inside.load(Ordering::SeqCst) == 2
        });
        if met { Ok(make.make()) } else { Err("the other one was kept out".into()) }
    });
    let route = route("gw.example:7000");
    let answers = std::thread::scope(|scope| {
        let asked = [(); 2].map(|()| scope.spawn(|| now(ask(&clients, &route))));
        asked.map(|thread| thread.join().unwrap())
    });
    assert_eq!(answers[0], answers[1], "one client");
    assert_eq!((factory.made(), clients.len(), factory.alive()), (2, 1, 1));
}

/// What waits for nothing needs no runtime.
fn now<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    match work.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

#[tokio::test]
async fn a_panic_while_a_client_is_made_costs_that_request_alone() {
    let factory = Factory::default();
    let make = factory.clone();
    let clients = PerExit::new(move |_: &Route| {
        assert_ne!(make.made.fetch_add(1, Ordering::Relaxed), 0, "no luck");
        Ok(make.make())
    });
    let scheduler = Scheduler::builder().exits(ExitList::parse("gw.example:7000").unwrap()).build().unwrap();
    let stack = EgressLayer::new(&scheduler).layer(clients.clone());
    let request = || {
        Request::get("https://shop.example/")
            .extension(LeaseRequest::per_request())
            .body(String::new())
            .unwrap()
    };

    let mut first = Box::pin(stack.clone().oneshot(request()));
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _ = first.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
    }));
    assert!(polled.is_err());
    drop(first);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.exits_in_use, clients.len()), (0, 0, 0));
    assert_eq!(stack.oneshot(request()).await.unwrap().status(), 200);
    assert_eq!((clients.len(), scheduler.snapshot().exits.dead), (1, 0));
}

#[tokio::test]
async fn what_cannot_be_made_ends_the_request_and_burns_no_exit() {
    let clients = PerExit::new(|_: &Route| -> Result<Numbered, BoxError> { Err("no certificates".into()) });
    let exits = ExitList::parse("gw.example:7000\ngw.example:7001\n").unwrap();
    let scheduler = Scheduler::builder().exits(exits).build().unwrap();
    let stack = EgressLayer::new(&scheduler).layer(clients.clone());
    for _ in 0..8 {
        let request = Request::get("https://shop.example/").extension(LeaseRequest::per_request());
        let error = stack.clone().oneshot(request.body(String::new()).unwrap()).await.unwrap_err();
        assert_eq!((error.outcome(), error.attempts().len()), (Some(Outcome::Fatal), 1));
        assert!(
            error.to_string().contains("no client could be made for the exit: no certificates"),
            "{error}"
        );
    }
    let snapshot = scheduler.snapshot();
    assert_eq!(
        (snapshot.exits.dead, snapshot.hottest.len(), snapshot.in_flight, clients.len()),
        (0, 0, 0, 0)
    );
}

/// Who makes a client may know that it was the exit: its name does not resolve, say.
#[tokio::test]
async fn a_failure_of_making_stands_as_it_is() {
    let unknown = || Failure::new(Phase::ExitDns, Seen::Never);
    let clients = PerExit::new(move |_: &Route| -> Result<Numbered, BoxError> { Err(unknown().into()) });
    let error = clients.oneshot(through(&route("gw.example:7000"))).await.unwrap_err();
    let PerExitError::NotMade(failure) = error else { panic!("{error}") };
    assert_eq!((failure.phase(), failure.seen()), (Phase::ExitDns, Seen::Never));
}

#[tokio::test]
async fn without_a_route_nothing_is_made_and_the_error_says_what_is_missing() {
    let factory = Factory::default();
    let make = factory.clone();
    let clients = PerExit::new(move |_: &Route| Ok(make.make()));
    let error = clients.clone().oneshot(Request::new(String::new())).await.unwrap_err();
    assert!(
        error.to_string().contains("carries no route") && error.to_string().contains("inside LeaseLayer")
    );
    let PerExitError::NoRoute(failure) = &error else { panic!("{error}") };
    assert_eq!((failure.phase(), failure.seen(), factory.made()), (Phase::Request, Seen::Never, 0));
}
