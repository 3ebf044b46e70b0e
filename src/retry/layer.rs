//! The layer and its one limit.

use super::{ExitAwarePolicy, ExitAwareRetry};
use crate::scheduler::Scheduler;
use tower::Layer;

/// Largest body that is kept for another attempt.
const REPLAY_CAP: usize = 64 << 10;

/// Sends again through other exits; see the [module](crate::retry).
#[derive(Clone, Debug)]
pub struct ExitAwareRetryLayer {
    policy: ExitAwarePolicy,
    replay_cap: usize,
}

impl ExitAwareRetryLayer {
    /// Asks `scheduler`, which must be the lease layer's, what to do next. Bodies up to 64 KiB are kept.
    #[must_use]
    pub fn new(scheduler: &Scheduler) -> Self {
        Self { policy: ExitAwarePolicy::new(scheduler.clone()), replay_cap: REPLAY_CAP }
    }

    /// Sets up to how many bytes a request's body is kept, so that it can be sent again.
    #[must_use]
    pub const fn replay_cap(mut self, bytes: usize) -> Self {
        self.replay_cap = bytes;
        self
    }
}

impl<S> Layer<S> for ExitAwareRetryLayer {
    type Service = ExitAwareRetry<S>;

    fn layer(&self, inner: S) -> ExitAwareRetry<S> {
        ExitAwareRetry::new(inner, self.policy.clone(), self.replay_cap)
    }
}
