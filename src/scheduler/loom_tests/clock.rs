//! A clock that stands until a model sets it, and alarms that never go off: who is not woken sleeps for ever, and the checker
//! calls that a deadlock.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

pub(super) use tokio::time::Instant;

thread_local! {
    /// All threads of a model run on the one thread of its test.
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Time is at so much since the scheduler was built.
pub(super) fn set(since: Duration) {
    NOW.set(since);
}

#[expect(clippy::disallowed_methods, reason = "no decision sees it")]
pub(super) fn start() -> (Instant, SystemTime) {
    (Instant::now(), SystemTime::UNIX_EPOCH)
}

pub(super) fn since(_: Instant) -> Duration {
    NOW.get()
}

pub(super) struct Sleep;

pub(super) fn sleep_until(_: Instant) -> Sleep {
    Sleep
}

impl Sleep {
    #[allow(clippy::needless_pass_by_value, clippy::unused_self, reason = "as tokio's")]
    pub(super) fn reset(self: Pin<&mut Self>, _: Instant) {}
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}
