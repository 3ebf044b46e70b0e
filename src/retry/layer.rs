//! The layer and its one limit.

use super::ExitAwareRetry;
use crate::scheduler::Scheduler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tower::Layer;

/// Largest body that is kept for another attempt.
const REPLAY_CAP: usize = 64 << 10;

/// Sends again through other exits; see the [module](crate::retry).
#[derive(Clone, Debug)]
pub struct ExitAwareRetryLayer {
    pub(super) scheduler: Scheduler,
    pub(super) replay_cap: usize,
    /// Shared by all services of the layer.
    warned: Arc<AtomicBool>,
}

impl ExitAwareRetryLayer {
    /// Asks `scheduler`, which must be the lease layer's, what to do next. Bodies up to 64 KiB are kept.
    #[must_use]
    pub fn new(scheduler: &Scheduler) -> Self {
        Self { scheduler: scheduler.clone(), replay_cap: REPLAY_CAP, warned: Arc::default() }
    }

    /// Sets up to how many bytes a request's body is kept, so that it can be sent again.
    #[must_use]
    pub const fn replay_cap(mut self, bytes: usize) -> Self {
        self.replay_cap = bytes;
        self
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

impl<S> Layer<S> for ExitAwareRetryLayer {
    type Service = ExitAwareRetry<S>;

    fn layer(&self, inner: S) -> ExitAwareRetry<S> {
        ExitAwareRetry::new(inner, self.clone())
    }
}
