//! The one place that reads a clock and sets an alarm, so that a model checker can stand in for both (`loom_tests/clock.rs`).

use std::time::{Duration, SystemTime};

pub(super) use tokio::time::{Instant, Sleep, sleep_until};

/// Now, on tokio's clock, so that paused tests work, and on the wall.
#[expect(clippy::disallowed_methods, reason = "where the clock starts")]
pub(super) fn start() -> (Instant, SystemTime) {
    let wall = SystemTime::now();
    (Instant::now(), wall)
}

#[inline]
pub(super) fn since(start: Instant) -> Duration {
    start.elapsed()
}
