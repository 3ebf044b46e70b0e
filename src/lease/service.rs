//! The service: lease, then send.

use super::waiting::{Terms, Waiting};
use super::{LeaseFuture, LeaseLayer};
use crate::error::{CarriesRefusal, LeaseError};
use crate::scheduler::{Attempt, Lease, LeaseHandle, Place};
use http::Request;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;
use tower::util::Oneshot;

/// The service of [`LeaseLayer`].
#[derive(Clone, Debug)]
pub struct Leased<S> {
    inner: S,
    layer: Arc<LeaseLayer>,
}

impl<S> Leased<S> {
    pub(super) fn new(inner: S, layer: LeaseLayer) -> Self {
        Self { inner, layer: Arc::new(layer) }
    }

    /// Waits until it is ready and sends one request. As tower's `ServiceExt::oneshot`; inherent, so that a wrong order of
    /// layers is a compile error that names the right one.
    pub fn oneshot<B>(self, request: Request<B>) -> Oneshot<Self, Request<B>>
    where
        Self: Service<Request<B>>,
    {
        tower::ServiceExt::oneshot(self, request)
    }

    /// The ready one goes uncalled, with whatever permit it holds; a clone stays.
    fn let_go(&mut self)
    where
        S: Clone,
    {
        self.inner = self.inner.clone();
    }

    /// A lease for the request or a place in the line, and the terms of the attempt.
    fn lease<B>(&self, request: &mut Request<B>) -> Result<(Result<Lease, Place>, Terms), LeaseError> {
        if request.extensions().get::<LeaseHandle>().is_some() {
            return Err(LeaseError::Misuse(
                "the request carries a lease already: one LeaseLayer \
                 (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
            ));
        }
        let scheduler = self.layer.scheduler();
        let attempt = request.extensions_mut().remove::<Attempt>();
        if attempt.as_ref().is_some_and(|attempt| !attempt.is_of(scheduler)) {
            return Err(LeaseError::Misuse(
                "ExitAwareRetryLayer and LeaseLayer were built with two schedulers; give both the same",
            ));
        }
        let mut ask = self.layer.ask(request)?;
        if let Some(attempt) = &attempt {
            attempt.resume(&mut ask);
        }
        let lease = scheduler.lease_or_wait(&mut ask)?;
        let deadline = scheduler.deadline(&ask);
        if let Some(attempt) = &attempt {
            attempt.asked(ask);
        }
        Ok((lease, Terms { attempt, deadline, to_body_end: self.layer.to_body_end }))
    }
}

impl<S, B> Service<Request<B>> for Leased<S>
where
    S: Service<Request<B>> + Clone,
    S::Error: CarriesRefusal,
{
    type Response = S::Response; // untouched: a body is held through the handle
    type Error = S::Error;
    type Future = LeaseFuture<S, B>;

    /// Forwards, and never reports a state of the fleet: an error here would end the service for ever.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.lease(&mut request) {
            Ok((Ok(lease), terms)) => LeaseFuture::sent(&mut self.inner, request, lease, terms),
            Ok((Err(place), terms)) => {
                self.let_go();
                LeaseFuture::waiting(Waiting::new(place, self.inner.clone(), request, terms))
            }
            Err(refusal) => {
                self.let_go();
                LeaseFuture::refused(refusal)
            }
        }
    }
}
