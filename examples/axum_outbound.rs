//! An axum service whose outbound client leaves through exits, and a partner's API that must see one fixed address. What no
//! exit may serve, and what the shop itself puts off, becomes 503 with `Retry-After`. Runs against the lab on loopback, and asks
//! itself some questions.
//!
//! ```text
//! cargo run --features lab --example axum_outbound
//! ```

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;
use tower_egress::lab::{Lab, Reply};
use tower_egress::{Body, EgressClient, Error, LeaseError, LeaseRequest, Next, Scheduler};

/// What handlers share.
struct Outbound {
    /// Any exit will do for the shop's pages.
    client: EgressClient,
    /// The partner knows us by one address, which it must never see change.
    partner: LeaseRequest,
    shop: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lab = Lab::builder().fine(3).start().await?;
    let scheduler = Scheduler::builder().exits(lab.exits()).seed(7).build()?;
    let app = app(Outbound {
        client: EgressClient::new(&scheduler),
        partner: LeaseRequest::identity("partner"),
        shop: lab.url("/").trim_end_matches('/').to_owned(),
    });

    println!("shop page        {}", ask(&app, "/price/42").await?);
    for order in 1..=3 {
        println!("partner order {order}  {}", ask(&app, &format!("/order/{order}")).await?);
    }
    let seen = lab.origin().seen();
    let orders = seen.iter().filter(|seen| seen.path().starts_with("/partner"));
    let addresses: BTreeSet<_> = orders.map(|seen| seen.peer()).collect();
    println!("                 the partner saw {} address", addresses.len());

    lab.origin()
        .page("/p/43", Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(Duration::from_secs(60)));
    println!("limited          {}", ask(&app, "/price/43").await?);

    // Everything stops in good order; what comes then is told when to come again.
    scheduler.operator().drain().await;
    println!("drained          {}", ask(&app, "/price/42").await?);
    Ok(())
}

fn app(outbound: Outbound) -> Router {
    Router::new()
        .route("/price/{sku}", get(price))
        .route("/order/{order}", get(order))
        .with_state(Arc::new(outbound))
}

async fn price(State(out): State<Arc<Outbound>>, Path(sku): Path<String>) -> Result<String, Failed> {
    let ask = LeaseRequest::new(format!("sku-{sku}"));
    out.fetch(&format!("/p/{sku}"), ask).await
}

async fn order(State(out): State<Arc<Outbound>>, Path(order): Path<String>) -> Result<String, Failed> {
    out.fetch(&format!("/partner/{order}"), out.partner.clone()).await
}

impl Outbound {
    async fn fetch(&self, path: &str, ask: LeaseRequest) -> Result<String, Failed> {
        // Somebody waits for us: rather no answer soon than one in two minutes.
        let ask = ask.deadline(Duration::from_secs(10)).patience(Duration::from_secs(2));
        let request = Request::get(format!("{}{path}", self.shop)).extension(ask).body(Body::empty());
        let response = self.client.clone().oneshot(request.map_err(Error::other)?).await?;
        // What no exit could cure is an answer: a 429 or 503 of the shop's is no page.
        if !response.status().is_success() {
            let wait = response.headers().get(header::RETRY_AFTER).cloned();
            return Err(Failed::Answer(response.status(), wait));
        }
        let page = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&page).into_owned())
    }
}

/// An outbound request that came to nothing.
enum Failed {
    Error(Error),
    Answer(StatusCode, Option<HeaderValue>),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for Failed {
    /// What went wrong is for our own log: strangers learn when to come again.
    fn into_response(self) -> Response {
        let (status, wait) = match self {
            Self::Answer(StatusCode::NOT_FOUND, _) => (StatusCode::NOT_FOUND, None),
            Self::Answer(_, Some(wait)) => (StatusCode::SERVICE_UNAVAILABLE, Some(wait)),
            Self::Answer(..) => (StatusCode::BAD_GATEWAY, None),
            Self::Error(error) => {
                eprintln!("{error}");
                let wait = error.retry_after().map(|wait| (wait.as_secs() + 1).into());
                match error.next() {
                    Next::At(_) => (StatusCode::SERVICE_UNAVAILABLE, wait),
                    Next::WhenResumed => (StatusCode::SERVICE_UNAVAILABLE, None),
                    Next::Bug => (StatusCode::INTERNAL_SERVER_ERROR, None),
                    // We stop: another instance of the service may answer.
                    _ if matches!(error.refusal(), Some(LeaseError::Closed)) => {
                        (StatusCode::SERVICE_UNAVAILABLE, None)
                    }
                    _ => (StatusCode::BAD_GATEWAY, None),
                }
            }
        };
        let mut answer = (status, "nothing to show for now").into_response();
        if let Some(wait) = wait {
            answer.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        answer
    }
}

/// Asks the service as a browser would.
async fn ask(app: &Router, path: &str) -> Result<String, Box<dyn std::error::Error>> {
    let request = Request::get(path).body(axum::body::Body::empty())?;
    let answer = app.clone().oneshot(request).await?;
    let wait = answer.headers().get(header::RETRY_AFTER).map(|wait| format!(" (again in {wait:?} s)"));
    let status = format!("{}{}", answer.status(), wait.unwrap_or_default());
    let text = answer.into_body().collect().await?.to_bytes();
    Ok(format!("{status}: {}", String::from_utf8_lossy(&text).trim_end()))
}
