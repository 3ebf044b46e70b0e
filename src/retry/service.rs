//! The wrapper around tower's `Retry`: slot and body.

use super::{ExitAwarePolicy, ReplayBody, RetryFuture};
use crate::error::CarriesRefusal;
use crate::scheduler::{Attempt, LeaseHandle};
use http::Request;
use http_body::Body;
use std::task::{Context, Poll};
use tower::Service;
use tower::retry::Retry;
use tower::util::Oneshot;

/// The service of [`ExitAwareRetryLayer`](super::ExitAwareRetryLayer).
#[derive(Clone, Debug)]
pub struct ExitAwareRetry<S> {
    retry: Retry<ExitAwarePolicy, S>,
    policy: ExitAwarePolicy,
    replay_cap: usize,
}

impl<S> ExitAwareRetry<S> {
    pub(super) fn new(inner: S, policy: ExitAwarePolicy, replay_cap: usize) -> Self {
        Self { retry: Retry::new(policy.clone(), inner), policy, replay_cap }
    }

    /// Waits until it is ready and sends one request. As tower's `ServiceExt::oneshot`; inherent, so that a wrong order of
    /// layers is a compile error that names the right one:
    ///
    /// ```compile_fail,E0277
    /// # use bytes::Bytes;
    /// # use http_body_util::Full;
    /// # use tower::{ServiceBuilder, service_fn};
    /// # use tower_egress::{ExitAwareRetryLayer, ExitList, LeaseLayer, Scheduler};
    /// # let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080").unwrap()).build().unwrap();
    /// # let request = http::Request::new(Full::<Bytes>::default());
    /// let client = ServiceBuilder::new()
    ///     .layer(ExitAwareRetryLayer::new(&scheduler))
    ///     .layer(LeaseLayer::new(&scheduler))
    ///     .service(service_fn(|_: http::Request<_>| async {
    ///         Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
    ///     }));
    /// client.oneshot(request); // `std::io::Error` cannot carry an egress refusal: there is no ClassifyLayer ..
    /// ```
    pub fn oneshot<B>(self, request: Request<B>) -> Oneshot<Self, Request<B>>
    where
        Self: Service<Request<B>>,
    {
        tower::ServiceExt::oneshot(self, request)
    }
}

impl<S, B> Service<Request<B>> for ExitAwareRetry<S>
where
    S: Service<Request<ReplayBody<B>>> + Clone,
    S::Error: CarriesRefusal,
    B: Body,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RetryFuture<S, B>;

    /// Forwards.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.retry.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        let body = ReplayBody::new(body, self.replay_cap);
        if parts.extensions.get::<Attempt>().is_some() {
            self.policy.warn_nested();
            return RetryFuture::passing(self.retry.get_mut().call(Request::from_parts(parts, body)));
        }
        if parts.extensions.get::<LeaseHandle>().is_some() {
            return RetryFuture::misuse(
                "ExitAwareRetryLayer is inside LeaseLayer, where every attempt would use the same exit \
                 (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
            );
        }
        let attempt = self.policy.slot(parts.method.is_idempotent());
        parts.extensions.insert(attempt.clone());
        RetryFuture::running(self.retry.call(Request::from_parts(parts, body)), attempt)
    }
}
