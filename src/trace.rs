//! tower-http's `Trace`, with this crate's outcomes in its spans and logs (feature `tower-http`).
//!
//! tower-http's own classifier knows statuses: to it a 403 is a success and a refused tunnel an error without a name.
//! [`Outcomes`] serves its `classify` traits with what [`ClassifyLayer`](crate::ClassifyLayer) has found. It classifies no
//! second time. Around the whole stack it tells how each request ended; between the retry layer and the lease layer, how
//! each attempt did.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_egress::{EgressLayer, ExitList, LeaseRequest, Scheduler, trace::Outcomes};
//! use tower_http::trace::TraceLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let client = ServiceBuilder::new()
//!     .layer(TraceLayer::new(Outcomes))
//!     .layer(EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()))
//!     .service(service_fn(|_request: http::Request<_>| async {
//!         Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
//!     }));
//! let request = http::Request::get("https://shop.example/").body(Full::<Bytes>::default())?;
//! assert_eq!(client.oneshot(request).await?.status(), 200);
//! # Ok(())
//! # }
//! ```

use crate::error::{BoxError, Error};
use crate::outcome::Outcome;
use crate::scheduler::Served;
use http::{HeaderMap, Request, Response, StatusCode};
use std::any::Any;
use std::fmt;
use tower_http::classify::{ClassifiedResponse, ClassifyEos, ClassifyResponse, MakeClassifier};

/// Classifies by the outcome that an answer or an error of the stack carries. An answer without one, made by another layer,
/// fails if its status is 5xx, as with tower-http's own classifier.
#[derive(Clone, Copy, Default, Debug)]
#[allow(
    clippy::exhaustive_structs,
    reason = "it has nothing to configure: the rules are the classify layer's"
)]
pub struct Outcomes;

/// How a request or an attempt failed. Prints as the outcome's name and what it carries, or the error's sentence; no login is
/// in it, unless another layer's error prints one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failed {
    /// What the last attempt showed.
    Outcome(Outcome),
    /// No attempt was made: the refusal, as it prints.
    Refused(String),
    /// An answer of another layer.
    Status(StatusCode),
    /// An error of another layer, as it prints.
    Other(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outcome(outcome) => fmt::Display::fmt(outcome, f),
            Self::Status(status) => fmt::Display::fmt(status, f),
            Self::Refused(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

/// Waits for the end of a body, which may take a success back.
#[derive(Debug)]
pub struct AtEnd(Served);

fn settled(outcome: Outcome) -> Result<(), Failed> {
    if outcome.is_ok() { Ok(()) } else { Err(Failed::Outcome(outcome)) }
}

fn failed<E: fmt::Display + 'static>(error: &E) -> Failed {
    let any: &dyn Any = error;
    let own = any
        .downcast_ref::<Error>()
        .or_else(|| any.downcast_ref::<BoxError>().and_then(|boxed| Error::of(&**boxed)));
    match own {
        Some(own) if own.is_refusal() => Failed::Refused(own.to_string()),
        Some(own) => own.outcome().map_or_else(|| Failed::Other(own.to_string()), Failed::Outcome),
        None => Failed::Other(error.to_string()),
    }
}

impl MakeClassifier for Outcomes {
    type Classifier = Self;
    type FailureClass = Failed;
    type ClassifyEos = AtEnd;

    fn make_classifier<B>(&self, _: &Request<B>) -> Self {
        *self
    }
}

impl ClassifyResponse for Outcomes {
    type FailureClass = Failed;
    type ClassifyEos = AtEnd;

    fn classify_response<B>(self, response: &Response<B>) -> ClassifiedResponse<Failed, AtEnd> {
        match response.extensions().get::<Served>() {
            Some(served) if served.outcome().is_ok() => {
                ClassifiedResponse::RequiresEos(AtEnd(served.clone()))
            }
            Some(served) => ClassifiedResponse::Ready(settled(served.outcome())),
            None if response.status().is_server_error() => {
                ClassifiedResponse::Ready(Err(Failed::Status(response.status())))
            }
            None => ClassifiedResponse::Ready(Ok(())),
        }
    }

    fn classify_error<E: fmt::Display + 'static>(self, error: &E) -> Failed {
        failed(error)
    }
}

impl ClassifyEos for AtEnd {
    type FailureClass = Failed;

    fn classify_eos(self, _: Option<&HeaderMap>) -> Result<(), Failed> {
        settled(self.0.outcome())
    }

    fn classify_error<E: fmt::Display + 'static>(self, error: &E) -> Failed {
        failed(error)
    }
}
