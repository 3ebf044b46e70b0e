//! The wrapper around tower's `Retry`: slot and body.

use super::{ExitAwarePolicy, ExitAwareRetryLayer, ReplayBody, RetryFuture};
use crate::error::CarriesRefusal;
use crate::scheduler::{Attempt, LeaseHandle};
use http::Request;
use http_body::Body;
use std::mem;
use std::task::{Context, Poll};
use tower::Service;
use tower::retry::Retry;
use tower::util::Oneshot;

/// The service of [`ExitAwareRetryLayer`](super::ExitAwareRetryLayer).
#[derive(Clone, Debug)]
pub struct ExitAwareRetry<S> {
    inner: S,
    layer: ExitAwareRetryLayer,
}

impl<S> ExitAwareRetry<S> {
    pub(super) const fn new(inner: S, layer: ExitAwareRetryLayer) -> Self {
        Self { inner, layer }
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
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        let body = ReplayBody::new(body, self.layer.replay_cap);
        let handle = parts.extensions.get::<LeaseHandle>();
        if parts.extensions.get::<Attempt>().is_some() || handle.is_some_and(LeaseHandle::is_retried) {
            self.layer.warn_nested();
            return RetryFuture::passing(self.inner.call(Request::from_parts(parts, body)));
        }
        if handle.is_some() {
            return RetryFuture::misuse(
                "ExitAwareRetryLayer is inside LeaseLayer, where every attempt would use the same exit \
                 (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
            );
        }
        let scheduler = self.layer.scheduler.clone();
        let attempt = Attempt::of(scheduler, parts.method.is_idempotent(), &mut parts.extensions);
        // The ready one goes; the clone stays.
        let fresh = self.inner.clone();
        let ready = mem::replace(&mut self.inner, fresh);
        let mut retry = Retry::new(ExitAwarePolicy::new(attempt.clone()), ready);
        RetryFuture::running(retry.call(Request::from_parts(parts, body)), attempt)
    }
}
