//! The layer and its limits.

use super::Classify;
use std::time::Duration;
use tower::Layer;

/// Names outcomes; see the [module](crate::classify). It needs no scheduler: it reports through the lease in the request.
///
/// Differs from a timeout layer in that its timeouts are evidence: the exit that did not answer is charged, and the retry
/// layer goes on through another.
#[derive(Clone, Copy, Debug)]
pub struct ClassifyLayer {
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempt: Duration,
    pub(super) body_idle: Duration,
}

impl ClassifyLayer {
    /// With 30 s to an answer's head, and 30 s between two frames of its body.
    #[must_use]
    pub const fn new() -> Self {
        let half_a_minute = Duration::from_secs(30);
        Self { limits: Limits { attempt: half_a_minute, body_idle: half_a_minute } }
    }

    /// Sets how long one attempt may take to the answer's head. [`Duration::MAX`] is no limit.
    #[must_use]
    pub const fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.limits.attempt = limit;
        self
    }

    /// Sets how long a reader waits for the next frame of a body. Time in which nobody reads does not count.
    #[must_use]
    pub const fn body_idle_timeout(mut self, limit: Duration) -> Self {
        self.limits.body_idle = limit;
        self
    }
}

impl Default for ClassifyLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ClassifyLayer {
    type Service = Classify<S>;

    fn layer(&self, inner: S) -> Classify<S> {
        Classify::new(inner, self.limits)
    }
}
