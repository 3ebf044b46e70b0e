//! An axum service whose outbound client leaves through exits, and a partner's API that must see one fixed address. What no
//! exit may serve becomes 503 with `Retry-After`. Runs against the lab on loopback, and asks itself three questions.
//!
//! ```text
//! cargo run --features lab --example axum_outbound
//! ```

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use std::collections::BTreeSet;
use std::sync::Arc;
use tower::ServiceExt;
use tower_egress::lab::Lab;
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

async fn price(State(out): State<Arc<Outbound>>, Path(sku): Path<String>) -> Result<String, Unavailable> {
    let ask = LeaseRequest::new(format!("sku-{sku}"));
    out.fetch(&format!("/p/{sku}"), ask).await
}

async fn order(State(out): State<Arc<Outbound>>, Path(order): Path<String>) -> Result<String, Unavailable> {
    out.fetch(&format!("/partner/{order}"), out.partner.clone()).await
}

impl Outbound {
    async fn fetch(&self, path: &str, ask: LeaseRequest) -> Result<String, Unavailable> {
        let request = Request::get(format!("{}{path}", self.shop)).extension(ask).body(Body::empty());
        let response = self.client.clone().oneshot(request.map_err(Error::other)?).await?;
        let page = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&page).into_owned())
    }
}

/// What a handler answers where its outbound request came to nothing.
struct Unavailable(Error);

impl From<Error> for Unavailable {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Unavailable {
    fn into_response(self) -> Response {
        let (status, wait) = match self.0.next() {
            // We stop: somebody else of the service may answer.
            _ if matches!(self.0.refusal(), Some(LeaseError::Closed)) => {
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
            Next::At(_) => (StatusCode::SERVICE_UNAVAILABLE, self.0.retry_after()),
            Next::WhenResumed => (StatusCode::SERVICE_UNAVAILABLE, None),
            Next::Bug => (StatusCode::INTERNAL_SERVER_ERROR, None),
            _ => (StatusCode::BAD_GATEWAY, None),
        };
        let mut answer = (status, self.0.to_string()).into_response();
        if let Some(wait) = wait {
            answer.headers_mut().insert(header::RETRY_AFTER, (wait.as_secs() + 1).into());
        }
        answer
    }
}

/// Asks the service as a browser would.
async fn ask(app: &Router, path: &str) -> Result<String, Box<dyn std::error::Error>> {
    let request = Request::get(path).body(axum::body::Body::empty())?;
    let answer = app.clone().oneshot(request).await?;
    let status = answer.status();
    let text = answer.into_body().collect().await?.to_bytes();
    Ok(format!("{status}: {}", String::from_utf8_lossy(&text).trim_end()))
}
