//! One page through the layers.

use http::Request;
use http_body_util::BodyExt as _;
use tokio::time::sleep_until;
use tower_egress::classify::Classify;
use tower_egress::error::AttemptRecord;
use tower_egress::lab::MemoryWorld;
use tower_egress::lease::Leased;
use tower_egress::retry::ExitAwareRetry;
use tower_egress::verdict::Why;
use tower_egress::{Body, Error, ExitId, LeaseRequest, Next, Served};

/// The layers as in every program; the lab stands where the client would.
pub(super) type Stack = ExitAwareRetry<Leased<Classify<MemoryWorld>>>;

/// What became of a page.
pub(super) struct Page {
    /// The exit that it came through.
    pub(super) end: Result<ExitId, Error>,
    pub(super) fetched: bool,
    pub(super) attempts: Vec<AttemptRecord>,
}

/// Fetches a page as the main job does: where a refusal says when to come back, or the request had no turn in time, it comes back then.
pub(super) async fn fetch(stack: Stack, url: String, ask: LeaseRequest) -> Page {
    let mut attempts = Vec::new();
    loop {
        let error = match send(&stack, &url, ask.clone()).await {
            Ok(served) => {
                attempts.extend(served.trail());
                return Page { end: Ok(served.exit()), fetched: served.outcome().is_ok(), attempts };
            }
            Err(error) => error,
        };
        attempts.extend(error.attempts());
        let late = matches!(error.why(), Some(Why::Parked { .. } | Why::Deadline));
        match error.next() {
            Next::At(time) if late || error.is_refusal() => sleep_until(time.into()).await,
            _ => return Page { end: Err(error), fetched: false, attempts },
        }
    }
}

async fn send(stack: &Stack, url: &str, ask: LeaseRequest) -> Result<Served, Error> {
    let request = Request::get(url).extension(ask).body(Body::empty()).map_err(Error::other)?;
    let (head, body) = stack.clone().oneshot(request).await?.into_parts();
    body.collect().await?;
    head.extensions.get().cloned().ok_or_else(|| Error::other("an answer that no exit served"))
}
