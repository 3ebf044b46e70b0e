//! The service: finds the lease, starts the attempt.

use super::layer::Terms;
use super::{ClassifyFuture, EgressBody};
use crate::error::{BoxError, Error};
use crate::scheduler::LeaseHandle;
use http::{Request, Response};
use http_body::Body;
use std::task::{Context, Poll};
use tower::Service;

/// The service of [`ClassifyLayer`](super::ClassifyLayer).
#[derive(Clone, Debug)]
pub struct Classify<S> {
    inner: S,
    terms: Terms,
}

impl<S> Classify<S> {
    pub(super) const fn new(inner: S, terms: Terms) -> Self {
        Self { inner, terms }
    }
}

impl<S, B, RB> Service<Request<B>> for Classify<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body + Unpin, // read a little inside the future, then moved out of it
    RB::Error: Into<BoxError>,
{
    type Response = Response<EgressBody<RB>>;
    type Error = Error;
    type Future = ClassifyFuture<S::Future, RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Error::other)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(handle) = request.extensions().get::<LeaseHandle>().cloned() else {
            return ClassifyFuture::misuse(
                "the request carries no lease: ClassifyLayer goes inside LeaseLayer \
                 (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
            );
        };
        if !handle.start() {
            return ClassifyFuture::misuse(
                "the request carries a lease that was already used: one ClassifyLayer, and between LeaseLayer and \
                 ClassifyLayer nothing that calls twice (redirects and other retries go outside LeaseLayer)",
            );
        }
        // A plain request is answered by the proxy or through it; in a tunnel every answer is the origin's.
        let plain = request.uri().scheme() == Some(&http::uri::Scheme::HTTP);
        let tunnelled = !(plain && handle.route().via().forwards());
        ClassifyFuture::head(self.inner.call(request), handle, tunnelled, self.terms.clone())
    }
}

/// The crate's own error, if it is one: made by a misplaced layer of this crate, it passes as it is.
pub(super) fn own(error: BoxError) -> Result<Error, BoxError> {
    error.downcast::<Error>().map(|own| *own)
}
