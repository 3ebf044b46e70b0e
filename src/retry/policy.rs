//! The policy for tower's own `Retry`.

use super::ReplayBody;
use crate::error::{CarriesRefusal, Error, LeaseError};
use crate::scheduler::{Attempt, Scheduler};
use crate::verdict::{Verdict, Why};
use http::Request;
use http_body::Body;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::Sleep;
use tower::retry::Policy;

/// Asks the scheduler whether and when to send again. It needs the slot that
/// [`ExitAwareRetry`](super::ExitAwareRetry) puts into the request; without it nothing is sent again.
#[derive(Clone, Debug)]
pub struct ExitAwarePolicy {
    scheduler: Scheduler,
    warned: Arc<AtomicBool>,
}

impl ExitAwarePolicy {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, warned: Arc::default() }
    }

    pub(super) fn slot(&self, idempotent: bool) -> Attempt {
        Attempt::new(self.scheduler.clone(), idempotent)
    }

    /// Says once that this layer does nothing.
    pub(super) fn warn_nested(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "tower_egress",
                "an ExitAwareRetryLayer inside another does not retry; remove the inner one"
            );
        }
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
        let attempt = request.extensions().get::<Attempt>()?.clone();
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
                if let Some(error) = error.filter(|_| why != Why::Done) {
                    error.stop(why, at);
                }
                None
            }
            ((Verdict::Retry { delay, .. }, _), error) => {
                if let Some(error) = error {
                    let parked = Error::refused(LeaseError::DeadlinePassed);
                    attempt.keep(std::mem::replace(error, parked));
                }
                Some(tokio::time::sleep(delay))
            }
        }
    }

    fn clone_request(&mut self, request: &Request<ReplayBody<B>>) -> Option<Request<ReplayBody<B>>> {
        Some(request.clone())
    }
}
