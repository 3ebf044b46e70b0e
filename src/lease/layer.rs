//! The layer: whose lease, for which origin, until when.

use super::Leased;
use crate::error::LeaseError;
use crate::request::{LeaseRequest, Origin};
use crate::scheduler::Scheduler;
use http::request::Parts;
use http::{Request, Uri};
use std::sync::Arc;
use std::{fmt, mem};
use tower::Layer;

/// Leases an exit for each attempt; see the [module](crate::lease).
///
/// What is leased: the [`LeaseRequest`] in the request's extensions; else the one that [`with`](Self::with) makes; else
/// the [default](Self::default_lease); else the request is refused, for an exit never changes silently. For which site: what
/// the lease request says; else what [`origin`](Self::origin) makes of the URI; else the URI's host.
#[derive(Clone)]
pub struct LeaseLayer {
    scheduler: Scheduler,
    ask: Option<Arc<Ask>>,
    default: Option<LeaseRequest>,
    origin: Option<Arc<Map>>,
    pub(super) to_body_end: bool,
}

type Ask = dyn Fn(&Parts) -> LeaseRequest + Send + Sync;
type Map = dyn Fn(&Uri) -> Origin + Send + Sync;

impl LeaseLayer {
    /// Leases from `scheduler`.
    #[must_use]
    pub fn new(scheduler: &Scheduler) -> Self {
        let scheduler = scheduler.clone();
        Self { scheduler, ask: None, default: None, origin: None, to_body_end: true }
    }

    /// Sets what requests lease that say nothing themselves.
    #[must_use]
    pub fn default_lease(mut self, ask: LeaseRequest) -> Self {
        self.default = Some(ask);
        self
    }

    /// Makes the lease request from the request's head, where its extensions hold none: redirect layers drop extensions.
    #[must_use]
    pub fn with(mut self, ask: impl Fn(&Parts) -> LeaseRequest + Send + Sync + 'static) -> Self {
        self.ask = Some(Arc::new(ask));
        self
    }

    /// Maps URIs to origins: to the registrable domain, for example, so that all hosts of a site share what is known.
    #[must_use]
    pub fn origin(mut self, map: impl Fn(&Uri) -> Origin + Send + Sync + 'static) -> Self {
        self.origin = Some(Arc::new(map));
        self
    }

    /// Gives the lease back at the answer's head instead of its body's end. In-flight counts then leave out bodies that
    /// are still being read; late failures are reported all the same, and only an end without one clears the exit's faults.
    #[must_use]
    pub fn release_at_head(mut self) -> Self {
        self.to_body_end = false;
        self
    }

    pub(super) const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The user's closures run here, before there is a lease that a panic could take along.
    pub(super) fn ask<B>(&self, request: &mut Request<B>) -> Result<LeaseRequest, LeaseError> {
        let mut ask = match (request.extensions().get::<LeaseRequest>(), &self.ask) {
            (Some(own), _) => own.clone(),
            (None, Some(ask)) => with_parts(request, |parts| ask(parts)),
            (None, None) => self.default.clone().ok_or(LeaseError::NoLeaseRequest)?,
        };
        if ask.origin.is_none() {
            ask.origin = match &self.origin {
                Some(map) => Some(map(request.uri())),
                None => Origin::of(request.uri()),
            };
        }
        if ask.origin.is_none() {
            return Err(LeaseError::Misuse(
                "the request's URI names no host; send absolute URIs, like https://shop.example/p/42",
            ));
        }
        Ok(ask)
    }
}

/// Lets a closure look at a request's head where it is: most requests need none, and their parts are large.
fn with_parts<B, T>(request: &mut Request<B>, look: impl FnOnce(&Parts) -> T) -> T {
    let (mut parts, ()) = Request::new(()).into_parts();
    let mut swap = |parts: &mut Parts| {
        mem::swap(&mut parts.method, request.method_mut());
        mem::swap(&mut parts.uri, request.uri_mut());
        mem::swap(&mut parts.version, request.version_mut());
        mem::swap(&mut parts.headers, request.headers_mut());
        mem::swap(&mut parts.extensions, request.extensions_mut());
    };
    swap(&mut parts);
    let out = look(&parts);
    swap(&mut parts);
    out
}

impl fmt::Debug for LeaseLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseLayer")
            .field("default", &self.default)
            .field("with", &self.ask.is_some())
            .field("origin", &self.origin.is_some())
            .field("to_body_end", &self.to_body_end)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for LeaseLayer {
    type Service = Leased<S>;

    fn layer(&self, inner: S) -> Leased<S> {
        Leased::new(inner, self.clone())
    }
}
