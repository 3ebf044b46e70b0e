//! The lab's clock: tokio's, so that a paused runtime pauses the world as well.

use tokio::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the world has a clock of its own: windows of rate limits, the record's times"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
