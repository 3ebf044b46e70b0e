//! The three layers in the right order.

use crate::classify::{Classify, ClassifyLayer, Rule};
use crate::lease::{LeaseLayer, Leased};
use crate::request::{LeaseRequest, Origin};
use crate::retry::{ExitAwareRetry, ExitAwareRetryLayer};
use crate::scheduler::Scheduler;
use http::Uri;
use http::request::Parts;
use std::time::Duration;
use tower::Layer;

/// The documented default: [`ExitAwareRetryLayer`], [`LeaseLayer`] and [`ClassifyLayer`], in this order.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use tower::{Layer, service_fn};
/// use tower_egress::{EgressLayer, ExitList, LeaseRequest, Scheduler, Served};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
/// let client = EgressLayer::new(&scheduler)
///     .default_lease(LeaseRequest::per_request())
///     .layer(service_fn(|_request: http::Request<_>| async {
///         Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
///     }));
/// let request = http::Request::get("https://shop.example/").body(Full::<Bytes>::default())?;
/// let response = client.oneshot(request).await?;
/// assert_eq!(response.extensions().get::<Served>().expect("on every response").attempts(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EgressLayer {
    retry: ExitAwareRetryLayer,
    lease: LeaseLayer,
    classify: ClassifyLayer,
}

impl EgressLayer {
    /// The three with their defaults.
    #[must_use]
    pub fn new(scheduler: &Scheduler) -> Self {
        Self {
            retry: ExitAwareRetryLayer::new(scheduler),
            lease: LeaseLayer::new(scheduler),
            classify: ClassifyLayer::new(),
        }
    }

    /// See [`LeaseLayer::default_lease`].
    #[must_use]
    pub fn default_lease(mut self, ask: LeaseRequest) -> Self {
        self.lease = self.lease.default_lease(ask);
        self
    }

    /// See [`LeaseLayer::with`].
    #[must_use]
    pub fn with(mut self, ask: impl Fn(&Parts) -> LeaseRequest + Send + Sync + 'static) -> Self {
        self.lease = self.lease.with(ask);
        self
    }

    /// See [`LeaseLayer::origin`].
    #[must_use]
    pub fn origin(mut self, map: impl Fn(&Uri) -> Origin + Send + Sync + 'static) -> Self {
        self.lease = self.lease.origin(map);
        self
    }

    /// See [`ClassifyLayer::attempt_timeout`].
    #[must_use]
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.classify = self.classify.attempt_timeout(limit);
        self
    }

    /// See [`ClassifyLayer::body_idle_timeout`].
    #[must_use]
    pub fn body_idle_timeout(mut self, limit: Duration) -> Self {
        self.classify = self.classify.body_idle_timeout(limit);
        self
    }

    /// See [`ClassifyLayer::collect`].
    #[must_use]
    pub fn collect(mut self, max: usize) -> Self {
        self.classify = self.classify.collect(max);
        self
    }

    /// See [`ExitAwareRetryLayer::replay_cap`].
    #[must_use]
    pub fn replay_cap(mut self, bytes: usize) -> Self {
        self.retry = self.retry.replay_cap(bytes);
        self
    }

    /// See [`ClassifyLayer::pages`].
    #[must_use]
    pub fn pages(mut self, searched: bool) -> Self {
        self.classify = self.classify.pages(searched);
        self
    }

    /// See [`ClassifyLayer::rule`].
    #[must_use]
    pub fn rule(mut self, rule: impl Rule + 'static) -> Self {
        self.classify = self.classify.rule(rule);
        self
    }
}

impl<S> Layer<S> for EgressLayer {
    type Service = ExitAwareRetry<Leased<Classify<S>>>;

    fn layer(&self, inner: S) -> Self::Service {
        self.retry.layer(self.lease.layer(self.classify.layer(inner)))
    }
}
