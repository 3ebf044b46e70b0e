//! The layers beside tower-http's: traces that carry outcomes, redirects that keep leases, pages unpacked inside.

use crate::support::*;
use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_egress::outcome::{BlockedBy, Phase, Seen};
use tower_egress::redirect::Redirects;
use tower_egress::trace::{Failed, Outcomes};
use tower_egress::{
    Body, ClassifyLayer, EgressLayer, ExitAwareRetryLayer, LeaseLayer, LeaseRequest, Outcome, Served,
};
use tower_http::decompression::DecompressionLayer;
use tower_http::follow_redirect::FollowRedirectLayer;
use tower_http::follow_redirect::policy::{PolicyExt, clone_body_fn};
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

const URI: &str = "https://shop.example/p/42";

/// What a trace calls failures.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<Failed>>>);

impl tower_http::trace::OnFailure<Failed> for Log {
    fn on_failure(&mut self, failed: Failed, _: Duration, _: &tracing::Span) {
        self.0.borrow_mut().push(failed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_trace_names_outcomes_of_attempts_inside_and_of_the_request_outside() {
    let scheduler = scheduler(8);
    let (outside, inside) = (Log::default(), Log::default());
    let broken = page(200, [Part::Data("half"), Part::Yield, Part::Error]);
    let stack = ServiceBuilder::new()
        .layer(TraceLayer::new(Outcomes).on_failure(outside.clone()))
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(TraceLayer::new(Outcomes).on_failure(inside.clone()))
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new())
        .service(Script::new([status(403), fail(Phase::ExitTcp, Seen::Never), broken]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    assert!(outside.0.borrow().is_empty(), "a success so far");
    assert!(response.into_body().collect().await.is_err());
    let body = Failed::Outcome(Outcome::Interrupted { phase: Phase::Body });
    let blocked = Failed::Outcome(Outcome::Blocked { by: BlockedBy::Unknown });
    let refused = Failed::Outcome(Outcome::ProxyError { phase: Phase::ExitTcp });
    assert_eq!(*outside.0.borrow(), std::slice::from_ref(&body));
    assert_eq!(*inside.0.borrow(), [blocked, refused, body]);
}

#[tokio::test(start_paused = true)]
async fn a_trace_tells_refusals_late_amendments_and_what_is_not_ours() {
    let scheduler = scheduler(1);
    let log = Log::default();
    let stack = ServiceBuilder::new()
        .layer(TraceLayer::new(Outcomes).on_failure(log.clone()))
        .layer(EgressLayer::new(&scheduler))
        .service(Script::new([status(200)]));
    assert!(stack.clone().oneshot(Request::get(URI).body(Full::<Bytes>::default()).unwrap()).await.is_err());
    let response = stack.oneshot(get(URI)).await.unwrap();
    response.extensions().get::<Served>().unwrap().report(Outcome::Fatal);
    response.into_body().collect().await.unwrap();
    let foreign = ServiceBuilder::new()
        .layer(TraceLayer::new(Outcomes).on_failure(log.clone()))
        .timeout(Duration::from_secs(1))
        .service(Script::new([status(500), Step::Hang]));
    let routed = || {
        let mut request = get(URI);
        let exit = tower_egress::Exit::parse("http://u:hunter2@192.0.2.1:1").unwrap();
        request.extensions_mut().insert(exit.route().clone());
        request
    };
    assert_eq!(foreign.clone().oneshot(routed()).await.unwrap().status(), 500);
    assert!(foreign.oneshot(routed()).await.is_err());
    let log = log.0.borrow();
    assert!(matches!(&log[0], Failed::Refused(why) if why.contains("LeaseRequest")), "{log:?}");
    assert_eq!(log[1], Failed::Outcome(Outcome::Fatal));
    assert_eq!(log[2], Failed::Status(StatusCode::INTERNAL_SERVER_ERROR));
    assert!(matches!(&log[3], Failed::Other(why) if why.contains("timed out")), "{log:?}");
    assert!(!format!("{log:?}").contains("hunter2"));
}

/// What the client below saw of each hop.
type Hops = Rc<RefCell<Vec<(Method, Uri, HeaderMap, Option<String>)>>>;

/// Answers the first request with a redirect, and all others with 200.
fn site(
    hops: Hops,
    status: u16,
    location: &'static str,
) -> impl Service<
    Request<tower_egress::retry::ReplayBody<Body>>,
    Response = Response<Full<Bytes>>,
    Error = std::io::Error,
    Future = impl Future<Output = Result<Response<Full<Bytes>>, std::io::Error>>,
> + Clone {
    service_fn(move |request: Request<tower_egress::retry::ReplayBody<Body>>| {
        let handle = request.extensions().get::<tower_egress::LeaseHandle>().unwrap().clone();
        let mark = request.extensions().get::<&'static str>().map(|mark| (*mark).to_owned());
        let seen = (request.method().clone(), request.uri().clone(), request.headers().clone(), mark);
        hops.borrow_mut().push(seen);
        let first = hops.borrow().len() == 1;
        let answer = Response::builder().status(if first { status } else { 200 });
        let answer = answer.header(LOCATION, location).header("x-exit", handle.exit().to_string());
        async move { Ok(answer.body(Full::default()).unwrap()) }
    })
}

fn asked(method: Method, ask: LeaseRequest) -> Request<Body> {
    let mut key = HeaderValue::from_static("k-17");
    key.set_sensitive(true);
    let body = if method == Method::POST { Body::from("price?") } else { Body::empty() };
    Request::builder()
        .method(method)
        .uri(URI)
        .extension(ask)
        .extension("beside")
        .header(AUTHORIZATION, "Bearer x")
        .header(COOKIE, "a=b")
        .header(HOST, "shop.example")
        .header("x-api-key", key)
        .header("accept-language", "de")
        .body(body)
        .unwrap()
}

async fn follow(ask: LeaseRequest, status: u16, location: &'static str, policy: Redirects) -> (Hops, u16) {
    let scheduler = scheduler(8);
    let hops = Hops::default();
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::with_policy(policy))
        .layer(EgressLayer::new(&scheduler))
        .service(site(Rc::clone(&hops), status, location));
    let response = stack.oneshot(asked(Method::GET, ask)).await.unwrap();
    assert_eq!(scheduler.snapshot().leases, hops.borrow().len() as u64);
    let status = response.status().as_u16();
    (hops, status)
}

#[tokio::test(start_paused = true)]
async fn a_hop_on_the_same_site_keeps_all_but_a_login_in_the_url() {
    let key = || LeaseRequest::new("sku-42").origin("the-shop");
    let (hops, status) = follow(key(), 303, "https://me:pw@shop.example/next", Redirects::new()).await;
    let hops = hops.borrow();
    let (_, uri, headers, mark) = &hops[1];
    assert_eq!((status, uri.to_string().as_str()), (200, "https://shop.example/next"));
    for name in [AUTHORIZATION.as_str(), "cookie", "host", "x-api-key", "accept-language"] {
        assert_eq!(headers.get(name), hops[0].2.get(name), "{name}");
    }
    assert_eq!(mark.as_deref(), Some("beside"));
}

#[tokio::test(start_paused = true)]
async fn a_hop_to_another_site_keeps_the_lease_and_no_credential() {
    for location in ["https://other.example/", "http://shop.example/", "https://shop.example:8443/"] {
        let (hops, status) =
            follow(LeaseRequest::new("sku-42").origin("the-shop"), 303, location, Redirects::new()).await;
        let hops = hops.borrow();
        let (_, uri, headers, mark) = &hops[1];
        assert_eq!((status, uri.to_string().as_str()), (200, location));
        let names: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["accept-language"], "{location}");
        assert_eq!(mark.as_deref(), None);
    }
    let policy = Redirects::new().allow_extension::<&'static str>();
    let (hops, _) = follow(LeaseRequest::new("sku-42"), 303, "https://other.example/", policy).await;
    assert_eq!(hops.borrow()[1].3.as_deref(), Some("beside"));
}

#[tokio::test(start_paused = true)]
async fn an_identity_keeps_its_exit_over_sites_and_an_origin_is_leased_anew() {
    let scheduler = scheduler(50);
    let exits = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&exits);
    let client = service_fn(move |request: Request<tower_egress::retry::ReplayBody<Body>>| {
        let handle = request.extensions().get::<tower_egress::LeaseHandle>().unwrap().clone();
        seen.borrow_mut().push((handle.exit(), handle.origin().to_string()));
        let next = match request.uri().host().unwrap() {
            "shop.example" => Some("https://login.example/"),
            "login.example" => Some("https://pay.example/"),
            _ => None,
        };
        let mut answer = Response::new(Full::<Bytes>::default());
        if let Some(next) = next {
            *answer.status_mut() = StatusCode::FOUND;
            answer.headers_mut().insert(LOCATION, HeaderValue::from_static(next));
        }
        async { Ok::<_, std::io::Error>(answer) }
    });
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::with_policy(Redirects::new()))
        .layer(EgressLayer::new(&scheduler))
        .service(client);
    let ask = LeaseRequest::identity("account-7").origin("shop.example");
    let response = stack.oneshot(asked(Method::GET, ask)).await.unwrap();
    assert_eq!(response.status(), 200);
    let exits = exits.borrow();
    let sites: Vec<_> = exits.iter().map(|(_, site)| site.as_str()).collect();
    assert_eq!(sites, ["shop.example", "login.example", "pay.example"]);
    assert!(exits.iter().all(|(exit, _)| *exit == exits[0].0), "{exits:?}");
    drop(response);
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn hops_end_at_the_limit_and_at_what_is_not_the_web() {
    let key = || LeaseRequest::new("k");
    for (location, policy) in [
        ("https://shop.example/again", Redirects::new().max_hops(0)),
        ("ftp://shop.example/", Redirects::new()),
        ("javascript:alert(1)", Redirects::new()),
    ] {
        let (hops, status) = follow(key(), 302, location, policy).await;
        assert_eq!((hops.borrow().len(), status), (1, 302), "{location}");
    }
    let scheduler = scheduler(1);
    let round = service_fn(|_: Request<tower_egress::retry::ReplayBody<Body>>| async {
        let answer = Response::builder().status(302).header(LOCATION, "/again");
        Ok::<_, std::io::Error>(answer.body(Full::<Bytes>::default()).unwrap())
    });
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::with_policy(Redirects::new()))
        .layer(EgressLayer::new(&scheduler))
        .service(round);
    assert_eq!(stack.oneshot(asked(Method::GET, key())).await.unwrap().status(), 302);
    assert_eq!(scheduler.snapshot().leases, 11, "the request and ten hops");
}

#[tokio::test(start_paused = true)]
async fn a_body_travels_with_a_307_if_the_policy_can_clone_it() {
    let scheduler = scheduler(8);
    let send = async |clones: bool| {
        let hops = Hops::default();
        let client = EgressLayer::new(&scheduler).layer(site(Rc::clone(&hops), 307, "/next"));
        let response = match clones {
            true => {
                let clone = clone_body_fn(Body::try_clone);
                let policy = Redirects::new().and::<_, Body, tower_egress::Error>(clone);
                let follow = FollowRedirectLayer::with_policy(policy);
                follow.layer(client).oneshot(asked(Method::POST, LeaseRequest::new("k"))).await
            }
            false => {
                let follow = FollowRedirectLayer::with_policy(Redirects::new());
                follow.layer(client).oneshot(asked(Method::POST, LeaseRequest::new("k"))).await
            }
        };
        let methods: Vec<_> = hops.borrow().iter().map(|hop| hop.0.clone()).collect();
        (response.unwrap().status().as_u16(), methods)
    };
    assert_eq!(send(true).await, (200, vec![Method::POST, Method::POST]));
    assert_eq!(send(false).await, (307, vec![Method::POST]), "the redirect is the answer");
}

/// "price: 7" as gzip has it, stored and not packed.
const PACKED: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 8, 0, 0xf7, 0xff, b'p', b'r', b'i', b'c', b'e', b':', b' ',
    b'7', 0x2e, 0x3a, 0xd1, 0x4b, 8, 0, 0, 0,
];

/// Answers with the bytes, as gzip.
fn packed(
    status: u16,
    bytes: &'static [u8],
) -> impl Service<
    Request<Full<Bytes>>,
    Response = Response<Full<Bytes>>,
    Error = std::io::Error,
    Future = impl Future<Output = Result<Response<Full<Bytes>>, std::io::Error>>,
> + Clone {
    service_fn(move |request: Request<Full<Bytes>>| {
        assert_eq!(request.headers()["accept-encoding"], "gzip");
        let answer = Response::builder().status(status).header("content-encoding", "gzip");
        async move { Ok(answer.body(Full::from(bytes)).unwrap()) }
    })
}

#[tokio::test(start_paused = true)]
async fn pages_are_unpacked_inside_and_a_page_that_cannot_be_is_the_attempts_failure() {
    let scheduler = scheduler(1);
    let layers = ServiceBuilder::new()
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new())
        .layer(DecompressionLayer::new());
    for status in [200, 403] {
        let response = layers.clone().service(packed(status, PACKED)).oneshot(get(URI)).await.unwrap();
        let served = response.extensions().get::<Served>().unwrap().clone();
        let page = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((&page[..], served.bytes()), (&b"price: 7"[..], 8));
        tokio::time::advance(Duration::from_secs(3_600)).await;
    }
    let response = layers.service(packed(200, &PACKED[..20])).oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(served.outcome(), Outcome::Interrupted { phase: Phase::Body });
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn tower_https_timeout_is_an_answer_and_so_it_counts_as_the_sites() {
    let scheduler = scheduler(4);
    let timeout = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_secs(3));
    let stack = ServiceBuilder::new()
        .layer(EgressLayer::new(&scheduler))
        .layer(timeout)
        .service(Script::new([Step::Hang, status(200)]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    let trail = response.extensions().get::<Served>().unwrap().trail();
    let late = Outcome::OriginError { status: StatusCode::REQUEST_TIMEOUT };
    assert_eq!(trail.iter().map(|attempt| attempt.outcome).collect::<Vec<_>>(), [late, Outcome::Ok]);
    drop(response);

    let outside = ServiceBuilder::new()
        .layer(timeout)
        .layer(EgressLayer::new(&scheduler))
        .service(Script::new([Step::Hang]));
    let response = outside.oneshot(get(URI)).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    assert!(response.extensions().get::<Served>().is_none(), "and it has no trail");
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

/// The URI and the names of the headers of each hop along these locations.
async fn along<P>(uri: &str, locations: &'static [&'static [u8]], policy: P) -> Vec<(String, Vec<String>)>
where
    P: tower_http::follow_redirect::policy::Policy<Body, tower_egress::Error> + Clone,
{
    let hops = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&hops);
    let client = service_fn(move |request: Request<tower_egress::retry::ReplayBody<Body>>| {
        let names = request.headers().keys().map(ToString::to_string).collect();
        seen.borrow_mut().push((request.uri().to_string(), names));
        let mut answer = Response::new(Full::<Bytes>::default());
        if let Some(next) = locations.get(seen.borrow().len() - 1) {
            *answer.status_mut() = StatusCode::FOUND;
            answer.headers_mut().insert(LOCATION, HeaderValue::from_bytes(next).unwrap());
        }
        async { Ok::<_, std::io::Error>(answer) }
    });
    let scheduler = scheduler(4);
    let stack = FollowRedirectLayer::with_policy(policy).layer(EgressLayer::new(&scheduler).layer(client));
    let mut request = asked(Method::GET, LeaseRequest::new("k"));
    *request.uri_mut() = uri.parse().unwrap();
    drop(stack.oneshot(request).await.unwrap());
    assert_eq!(scheduler.snapshot().in_flight, 0);
    drop(scheduler);
    Rc::into_inner(hops).unwrap().into_inner()
}

#[tokio::test(start_paused = true)]
async fn a_site_is_the_same_however_its_name_is_written() {
    for uri in ["https://SHOP.example/", "https://shop.example:443/", "https://shop.example./"] {
        let hops = along(uri, &[b"https://shop.example/next"], Redirects::new()).await;
        assert_eq!(hops[1].1, hops[0].1, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_policys_word_to_follow_takes_no_credentials_along() {
    use tower_http::follow_redirect::policy::Action;
    let other: &[&[u8]] = &[b"https://other.example/"];
    let policy = Redirects::new().max_hops(0).or::<_, Body, tower_egress::Error>(Action::Follow);
    assert_eq!(along(URI, other, policy).await[1].1, ["accept-language"]);
}

#[tokio::test(start_paused = true)]
async fn no_location_brings_credentials_elsewhere() {
    let back: &[&[u8]] =
        &[b"http://shop.example/", b"https://other.example/", b"https://shop.example/home", b"/on"];
    let hops = along(URI, back, Redirects::new()).await;
    assert_eq!(hops.len(), 5);
    assert!(hops[1..].iter().all(|(_, names)| names == &["accept-language"]), "{hops:?}");
    let hostile: &[&[&[u8]]] = &[
        &[b"//other.example/"],
        &[b"https://shop.example@other.example/"],
        &[b"https://shop.example:pw@[::1]:0/#x"],
        &[b"https:\\\\other.example\\@shop.example/"],
        &[b"https://shop.example:99999/"],
        &[b"https://shop.example.other.example/"],
        &[b"https://\xc3\xa4.example/"],
        &[b"https://\xff/"],
        &[b"https://@@shop.example:8443@/"],
        &[b"https://%73hop.example:444/"],
        &[b"///"],
        &[b"https://"],
        &[b"#only"],
        &[b""],
    ];
    for locations in hostile {
        for uri in [URI, "https://me:pw@shop.example/"] {
            for (to, names) in &along(uri, locations, Redirects::new()).await[1..] {
                let same = to.starts_with("https://shop.example/");
                assert_eq!(names.len(), if same { 5 } else { 1 }, "{to}: {names:?}");
                assert!(!to.split('/').nth(2).unwrap().contains('@'), "{to}");
            }
        }
    }
}
