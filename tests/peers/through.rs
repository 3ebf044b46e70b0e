//! One exit of a peer, and what becomes of requests through it.

use http::{Method, Request};
use http_body_util::BodyExt as _;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::timeout;
use tower::Layer as _;
use tower_egress::client::ExitClientBuilder;
use tower_egress::{
    Body, EgressClient, EgressLayer, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler, Served,
};

/// A fleet of one exit.
pub(crate) struct Through(EgressClient);

/// What became of a request that was sent once: status and body, or the failure's sentence.
pub(crate) struct Came {
    pub(crate) answer: Result<(u16, String), String>,
    pub(crate) outcome: Outcome,
}

impl Through {
    /// Through an exit, trusting these roots for the site.
    pub(crate) fn exit(exit: ExitList, roots: &str) -> Self {
        Self::by(exit, ExitClient::builder().roots_pem(roots.as_bytes()))
    }

    /// By a client of one's own.
    pub(crate) fn by(exit: ExitList, client: ExitClientBuilder) -> Self {
        let (scheduler, client) =
            (Scheduler::builder().exits(exit).build().unwrap(), client.build().unwrap());
        let once = LeaseRequest::per_request().attempts(NonZeroU32::MIN);
        Self(EgressClient::of(EgressLayer::new(&scheduler).default_lease(once).layer(client)))
    }

    pub(crate) async fn get(&self, url: &str) -> Came {
        self.send(Method::GET, url, "").await
    }

    pub(crate) async fn post(&self, url: &str, body: &'static str) -> Came {
        self.send(Method::POST, url, body).await
    }

    async fn send(&self, method: Method, url: &str, body: &'static str) -> Came {
        let request = Request::builder().method(method).uri(url).body(Body::from(body)).unwrap();
        // A failing test must end.
        timeout(Duration::from_secs(30), self.came(request)).await.expect("took too long")
    }

    async fn came(&self, request: Request<Body>) -> Came {
        let (head, body) = match self.0.send(request).await {
            Ok(answer) => answer.into_parts(),
            Err(error) => return failed(&error),
        };
        let served = head.extensions.get::<Served>().unwrap();
        assert_eq!(served.attempts(), 1, "{:?}", served.trail());
        match body.collect().await {
            Ok(whole) => {
                let text = String::from_utf8(whole.to_bytes().to_vec()).unwrap();
                Came { answer: Ok((head.status.as_u16(), text)), outcome: served.outcome() }
            }
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &tower_egress::Error) -> Came {
    Came { answer: Err(error.to_string()), outcome: error.outcome().expect("it was sent") }
}

impl Came {
    /// The status of an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().ok().map(|(status, _)| *status)
    }
}
