//! The tasks: workers, jobs that come by themselves, and jobs that were put aside until they are due.

use super::desk::Desk;
use crate::lab::lock::Lock;
use crate::lab::sim::contender::{Next, Why};
use crate::lab::sim::luck::{For, Luck};
use crate::request::Time;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::task::unconstrained;
use tokio::time::{Sleep, sleep, sleep_until};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Sends a job's request, and says what the job does next.
pub(super) type Ask = Arc<dyn Fn(u32) -> Boxed<Next> + Send + Sync>;

/// What every task needs.
pub(super) struct Task {
    pub(super) desk: Desk,
    pub(super) ask: Ask,
    pub(super) breaks: Breaks,
    pub(super) luck: Luck,
}

/// How many of the requests are dropped before they are answered.
#[derive(Clone, Copy, Default)]
pub(super) struct Breaks {
    /// After so many polls, by chance.
    pub(super) at_await: f64,
    /// Whenever.
    pub(super) in_time: f64,
}

/// A timer that runs from now on. One that is awaited by another task first runs from there.
pub(super) async fn alarm(desk: &Desk, at: Time) -> Pin<Box<Sleep>> {
    let mut alarm = Box::pin(sleep_until(desk.instant(at)));
    poll_fn(|cx| {
        let _ = alarm.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
    alarm
}

/// A worker, or a job that comes by itself.
pub(super) fn begin(task: Arc<Task>, alarm: Pin<Box<Sleep>>, job: Option<u32>) -> Boxed<()> {
    Box::pin(unconstrained(async move {
        alarm.await;
        match job {
            None => work(task).await,
            Some(job) => perform(&task, job).await,
        }
    }))
}

/// A job that was put aside: who is idle takes it at once, and goes on from there; without workers it goes on itself.
fn comes_due(task: Arc<Task>, alarm: Pin<Box<Sleep>>, job: u32) -> Boxed<()> {
    Box::pin(unconstrained(async move {
        alarm.await;
        if task.desk.is_open() {
            perform(&task, job).await;
        } else if task.desk.is_due(job) {
            work(task).await;
        }
    }))
}

async fn work(task: Arc<Task>) {
    while let Some(job) = task.desk.take_up() {
        perform(&task, job).await;
    }
}

async fn perform(task: &Arc<Task>, job: u32) {
    let Task { desk, ask, .. } = &**task;
    desk.begin(job);
    let next = Watched::new(task, job, ask(job)).await;
    desk.leave(job, &next);
    if let Next::Park(at) = next {
        let alarm = alarm(desk, at).await;
        tokio::spawn(comes_due(Arc::clone(task), alarm, job));
    }
}

/// A request, polled only when it was woken itself: its task may have been woken for the one before it.
struct Watched {
    request: Boxed<Next>,
    bell: Arc<Bell>,
    desk: Desk,
    job: u32,
    polls_left: u64,
    breaks_at: Option<Pin<Box<Sleep>>>,
}

struct Bell {
    rung: AtomicBool,
    task: Lock<Option<Waker>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Relaxed);
        let task = self.task.lock().clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Watched {
    fn new(task: &Task, job: u32, request: Boxed<Next>) -> Self {
        let Task { desk, luck, breaks, .. } = task;
        let again = u64::from(desk.sends(job));
        let unit = |what: u64| luck.unit(For::Policy, &[job.into(), again, what]);
        let polls_left = if unit(2) < breaks.at_await { 1 + (unit(3) * 6.0) as u64 } else { u64::MAX };
        let breaks_at = (unit(4) < breaks.in_time).then(|| {
            let far = Duration::from_secs_f64(30.0 * unit(5) * unit(6));
            Box::pin(sleep(far))
        });
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: Lock::new(None) });
        Self { request, bell, desk: desk.clone(), job, polls_left, breaks_at }
    }
}

impl Future for Watched {
    type Output = Next;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        *self.bell.task.lock() = Some(cx.waker().clone());
        let gone = self.breaks_at.as_mut().is_some_and(|at| at.as_mut().poll(cx).is_ready());
        if self.polls_left == 0 || gone {
            return Poll::Ready(Next::GiveUp(Why::Late));
        }
        if !self.bell.rung.swap(false, Ordering::Relaxed) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.bell));
        let out = self.request.as_mut().poll(&mut Context::from_waker(&waker));
        if out.is_pending() {
            self.desk.is_pending(self.job);
            self.polls_left -= 1;
            if self.polls_left == 0 {
                return Poll::Ready(Next::GiveUp(Why::Late));
            }
        }
        out
    }
}
