//! From reqwest and reqwest-middleware to exits that are leased. reqwest stays the client; what was around it goes away.
//!
//! | before | after |
//! |---|---|
//! | one `Client` with `Proxy::custom(rotate)`: asked for new connections alone, kept ones stay with an earlier proxy | a `Client` per exit, made when a lease names it |
//! | `RetryTransientMiddleware`, or a `retry` loop around the call: again at once, through whatever comes | a layer: through another exit, after what is known of exit and site; a POST only if it never left |
//! | a global `HashMap<Proxy, BadUntil>` | the scheduler: an exit rests at the site that refused it, and serves all others |
//! | `if page.contains("captcha") { mark_bad(proxy) }` | `served.report(outcome)` |
//!
//! Runs in the lab, on loopback: `cargo run --features lab --example from_reqwest`.

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tower::{Layer as _, service_fn};
use tower_egress::exit::Route;
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::{BlockedBy, Failure, Phase, Seen};
use tower_egress::retry::ReplayBody;
use tower_egress::{Body, EgressLayer, LeaseRequest, Outcome, PerExit, Scheduler, Served};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // reqwest's feature `rustls` brings a provider of its own; this program has built it with `rustls-no-provider`.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Instead of a list of exits: three that work, one that the site refuses, one that is dead.
    let lab = Lab::builder().fine(3).refused(1).dead(1).start().await?;
    lab.origin().page("/p/5", Reply::page("are you human?"));
    let roots = reqwest::Certificate::from_pem(lab.ca_pem().as_bytes())?;

    let clients = PerExit::new(move |route| {
        let client = client(route, &roots)?;
        Ok(service_fn(move |request| send(client.clone(), request)))
    });
    let scheduler = Scheduler::builder().exits(lab.exits()).seed(7).build()?;
    let egress = EgressLayer::new(&scheduler).layer(clients.clone());

    for number in 0..10 {
        let url = lab.tls_url(&format!("/p/{number}"));
        let request = Request::get(url).extension(LeaseRequest::per_request()).body(Body::empty())?;
        let response = egress.clone().oneshot(request).await?;
        let (status, served) = (response.status(), response.extensions().get::<Served>().cloned());
        let served = served.expect("every response has one");
        let page = response.into_body().collect().await.map_err(tower_egress::Error::other)?.to_bytes();
        if page.starts_with(b"are you human") {
            served.report(Outcome::Blocked { by: BlockedBy::Unknown }); // 200, and yet no page
        }
        let (exit, attempts) = (served.exit(), served.attempts());
        println!("/p/{number} {status} through {exit} after {attempts} attempt(s)");
    }
    println!("{} clients\n{}", clients.len(), scheduler.snapshot());
    Ok(())
}

/// A client that leaves through one exit, and by no other way.
fn client(route: &Route, roots: &reqwest::Certificate) -> reqwest::Result<reqwest::Client> {
    let mut proxy = reqwest::Proxy::all(route.url())?;
    if let Some(login) = route.credential() {
        proxy = proxy.basic_auth(login.user(), login.password());
    }
    reqwest::Client::builder()
        .proxy(proxy) // and none of the environment
        .redirect(reqwest::redirect::Policy::none()) // a hop is a request of its own, with a lease of its own
        .tls_certs_only([roots.clone()]) // the lab's; without this line the platform's
        .build()
}

async fn send(
    client: reqwest::Client,
    request: Request<ReplayBody<Body>>,
) -> Result<Response<reqwest::Body>, Failure> {
    let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap)).map_err(failure)?;
    client.execute(request).await.map(Response::from).map_err(failure)
}

/// What an error of reqwest proves, so that retries and cooldowns can tell.
fn failure(error: reqwest::Error) -> Failure {
    if error.is_connect() {
        Failure::not_connected(error)
    } else if error.is_builder() {
        Failure::new(Phase::Request, Seen::Never).because(error)
    } else {
        Failure::new(Phase::Head, Seen::Unknown).because(error)
    }
}
