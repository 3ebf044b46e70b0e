//! In memory, under paused time.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use std::error::Error;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;
use tower::ServiceExt;
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Broken, Lab, MemoryWorld, Reply, ReplyBody, SLOW};
use tower_egress::outcome::{Failure, Phase, Seen};

async fn ask(world: &MemoryWorld, exit: usize, url: String) -> Result<Response<ReplyBody>, Broken> {
    let mut request = Request::get(url).body(Full::<Bytes>::default()).unwrap();
    request.extensions_mut().insert(world.exit(exit).exit().route().clone());
    world.clone().oneshot(request).await
}

/// The failure as a layer finds it: somewhere down the sources.
fn failure<'a>(error: &'a (dyn Error + 'static)) -> &'a Failure {
    let mut at = error;
    loop {
        match at.downcast_ref() {
            Some(failure) => return failure,
            None => at = at.source().expect("a failure in the chain"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn memory_waits_by_the_paused_clock() {
    let world = Lab::builder().fine(1).slow(1).in_memory().unwrap();
    world.origin().limit(1, Duration::from_secs(90));
    world.origin().page("/slow", Reply::page("late").after(Duration::from_secs(3600)));
    let mut late = pin!(ask(&world, 1, world.url("/slow")));
    let (whole, tick) = (Duration::from_secs(3600) + SLOW, Duration::from_millis(1));
    assert!(timeout(whole - tick, &mut late).await.is_err());
    assert_eq!(timeout(tick * 2, late).await.unwrap().unwrap().status(), StatusCode::OK);

    assert_eq!(ask(&world, 0, world.url("/")).await.unwrap().status(), StatusCode::OK);
    tokio::time::advance(Duration::from_millis(29_500)).await;
    let refused = ask(&world, 0, world.url("/")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[RETRY_AFTER], "61", "60.5 s are left");
    tokio::time::advance(Duration::from_millis(60_500)).await;
    assert_eq!(ask(&world, 0, world.url("/")).await.unwrap().status(), StatusCode::OK);

    let hang = Reply::hang();
    world.origin().page("/hang", hang);
    world.origin().unlimit();
    let hour = Duration::from_secs(3600);
    assert!(timeout(hour, ask(&world, 0, world.url("/hang"))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn memory_records_each_request_with_its_exit() {
    let world = Lab::builder().fine(2).refused(1).site("shop.test").site("api.test").in_memory().unwrap();
    for exit in [1, 0, 2] {
        ask(&world, exit, world.tls_url("/p")).await.unwrap();
    }
    ask(&world, 0, "http://api.test/x".to_owned()).await.unwrap();
    let seen = world.origin().seen();
    let exits: Vec<_> = seen.iter().map(|seen| world.exit_at(seen.peer()).unwrap().exit().id()).collect();
    assert_eq!(exits, [1, 0, 2].map(|at| world.exit(at).exit().id()));
    assert!(seen[0].is_tls());
    assert_eq!(world.exit(0).traffic().connects, 1);
    assert_eq!(world.exit(0).traffic().requests, 1);
    assert_eq!(world.site("api.test").unwrap().requests(), 1);
    // A script per exit and path.
    let banned = world.exit(1).source();
    world.origin().respond(move |seen| match (seen.peer() == banned, seen.path()) {
        (true, "/p") => Reply::new(StatusCode::IM_A_TEAPOT),
        _ => Reply::page("fine"),
    });
    assert_eq!(ask(&world, 1, world.url("/p")).await.unwrap().status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(ask(&world, 1, world.url("/q")).await.unwrap().status(), StatusCode::OK);
    assert_eq!(ask(&world, 0, world.url("/p")).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn memory_never_goes_direct() {
    let world = Lab::builder().fine(1).in_memory().unwrap();
    let request = Request::get(world.url("/")).body(Full::<Bytes>::default()).unwrap();
    let error = world.clone().oneshot(request).await.unwrap_err();
    assert!(error.to_string().contains("never direct"), "{error}");
    assert_eq!((failure(&error).phase(), failure(&error).seen()), (Phase::Request, Seen::Never));
    assert_eq!(world.origin().requests(), 0);

    let other = Lab::builder().fine(2).in_memory().unwrap();
    let mut stranger = Request::get(world.url("/")).body(Full::<Bytes>::default()).unwrap();
    stranger.extensions_mut().insert(other.exit(1).exit().route().clone());
    assert_eq!(failure(&world.clone().oneshot(stranger).await.unwrap_err()).phase(), Phase::ExitTcp);
}

#[tokio::test(start_paused = true)]
async fn memory_fails_as_sockets_do() {
    let login = Credential::new("user", "secret").unwrap();
    let busy = Reply::page("busy").status(StatusCode::SERVICE_UNAVAILABLE);
    let world = Lab::builder()
        .dead(1)
        .exit(Behaviour::fine().login(login))
        .exit(Behaviour::fine().answer_connect(busy).answer_requests(Reply::reset()))
        .exit(Behaviour::fine().cut_after(4))
        .in_memory()
        .unwrap();
    world.origin().page("/p", Reply::page("0123456789"));
    world.origin().page("/reset", Reply::reset());

    let dead = ask(&world, 0, world.url("/p")).await.unwrap_err();
    assert_eq!((failure(&dead).phase(), failure(&dead).seen()), (Phase::ExitTcp, Seen::Never));
    world.exit(0).heal().unwrap();
    assert_eq!(ask(&world, 0, world.url("/p")).await.unwrap().status(), StatusCode::OK);

    assert_eq!(ask(&world, 1, world.tls_url("/p")).await.unwrap().status(), StatusCode::OK);
    world.exit(1).behave(Behaviour::fine().login(Credential::new("user", "other").unwrap())).unwrap();
    let refused = ask(&world, 1, world.tls_url("/p")).await.unwrap_err();
    assert_eq!(failure(&refused).phase(), Phase::Tunnel);
    assert_eq!(failure(&refused).refusal().unwrap().status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    let refused = ask(&world, 1, world.url("/p")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    assert_eq!(world.exit(1).traffic().refused_logins, 2);

    let busy = ask(&world, 2, world.tls_url("/p")).await.unwrap_err();
    assert_eq!(failure(&busy).refusal().unwrap().body(), "busy");
    assert_eq!(failure(&busy).seen(), Seen::Never);
    let reset = ask(&world, 2, world.url("/p")).await.unwrap_err();
    assert_eq!((failure(&reset).phase(), failure(&reset).seen()), (Phase::Head, Seen::Unknown));

    let mut cut = ask(&world, 3, world.url("/p")).await.unwrap().into_body();
    assert_eq!(cut.frame().await.unwrap().unwrap().into_data().unwrap(), "0123");
    let cut = cut.frame().await.unwrap().unwrap_err();
    assert_eq!((failure(&cut).phase(), failure(&cut).seen()), (Phase::Body, Seen::Seen));
    assert_eq!(world.exit(3).traffic().bytes_out, 4);

    assert_eq!(ask(&world, 0, world.url("/reset")).await.unwrap().status(), StatusCode::BAD_GATEWAY);
    let reset = ask(&world, 0, world.tls_url("/reset")).await.unwrap_err();
    assert_eq!((failure(&reset).phase(), failure(&reset).seen()), (Phase::Head, Seen::Unknown));
    let unknown = ask(&world, 0, "http://unknown.test/".to_owned()).await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_GATEWAY);
}

#[tokio::test(start_paused = true)]
async fn memory_answers_head_without_a_body() {
    let world = Lab::builder().fine(1).in_memory().unwrap();
    let mut head = Request::new(Full::<Bytes>::default());
    *head.method_mut() = Method::HEAD;
    *head.uri_mut() = world.url("/p").parse().unwrap();
    head.extensions_mut().insert(world.exit(0).exit().route().clone());
    let answer = world.clone().oneshot(head).await.unwrap();
    assert_eq!(answer.headers()[CONTENT_LENGTH], "12");
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "");
}
