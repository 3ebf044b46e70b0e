//! The policy for tower's own `Retry`.

use super::ReplayBody;
use crate::error::{CarriesRefusal, Error, LeaseError};
use crate::scheduler::Attempt;
use crate::verdict::{Verdict, Why};
use http::Request;
use http_body::Body;
use std::fmt;
use tokio::time::Sleep;
use tower::retry::Policy;

/// Asks the scheduler whether and when to send again. [`ExitAwareRetry`](super::ExitAwareRetry) makes one for each request,
/// with the slot that its attempts share.
#[derive(Clone)]
pub struct ExitAwarePolicy(Attempt);

impl ExitAwarePolicy {
    pub(super) const fn new(attempt: Attempt) -> Self {
        Self(attempt)
    }
}

impl fmt::Debug for ExitAwarePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExitAwarePolicy").finish_non_exhaustive()
    }
}

impl<B, Res, E> Policy<Request<ReplayBody<B>>, Res, E> for ExitAwarePolicy
where
    B: Body,
    E: CarriesRefusal,
{
    type Future = Sleep;

    /// `result` is dropped before the wait begins, and with it the body and the lease.
    fn retry(
        &mut self,
        request: &mut Request<ReplayBody<B>>,
        result: &mut Result<Res, E>,
    ) -> Option<Self::Future> {
        let Self(attempt) = &*self;
        // Not our error: a layer between this one and the lease layer gave up, and the lease is still out.
        if result.as_mut().err().is_some_and(|error| error.egress().is_none()) {
            attempt.break_off();
        }
        let error = result.as_mut().err().and_then(E::egress);
        // Nothing was sent, and the lease layer has waited for as long as the request would.
        if error.as_ref().is_some_and(|error| error.refusal().is_some()) {
            return None;
        }
        match (attempt.retry(request.body().is_replayable()), error) {
            ((Verdict::Stop(why), at), error) => {
                // Where nothing was sent, or an answer was kept back, there is no reason to name.
                if let (Some(error), Some(at)) = (error.filter(|_| why != Why::Done), at) {
                    error.stop(why, at);
                }
                None
            }
            ((Verdict::Retry { delay, .. }, _), error) => {
                if let Some(error) = error {
                    let parked = Error::refused(LeaseError::DeadlinePassed);
                    attempt.keep(std::mem::replace(error, parked));
                }
                request.body().claim();
                attempt.carry(request.extensions_mut());
                Some(tokio::time::sleep(delay))
            }
        }
    }

    /// All but the extensions, which the slot keeps: a request that is sent once needs them once.
    fn clone_request(&mut self, request: &Request<ReplayBody<B>>) -> Option<Request<ReplayBody<B>>> {
        let mut copy = Request::new(request.body().clone());
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        copy.headers_mut().clone_from(request.headers());
        Some(copy)
    }
}
