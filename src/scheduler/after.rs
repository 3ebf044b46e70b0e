//! What follows a verb: those who may go now are woken, and what has happened is told, once the lock is released.

use super::Scheduler;
use super::shell::Guarded;
use super::sync::MutexGuard;
use super::wakers::wake;
use crate::exit::Route;
use crate::request::Time;
use std::task::Waker;

/// What is left to do after a verb, without a lock; mostly nothing.
#[derive(Default)]
#[must_use]
pub(super) struct After(Option<Box<ToDo>>);

struct ToDo {
    called: Vec<Waker>,
    /// Whoever keeps connections for these is to close them.
    given_up: Vec<Route>,
    news: bool,
}

impl After {
    pub(super) fn wakes(called: Vec<Waker>) -> Self {
        Self(Some(Box::new(ToDo { called, given_up: Vec::new(), news: false })))
    }

    #[inline]
    pub(super) const fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

/// Calls those who may go now, and gives the lock back.
#[inline]
pub(super) fn after(guarded: MutexGuard<'_, Guarded>, now: Time) -> After {
    After(if guarded.fleet.is_quiet() { None } else { Some(to_do(guarded, now)) })
}

#[cold]
fn to_do(mut guarded: MutexGuard<'_, Guarded>, now: Time) -> Box<ToDo> {
    let called = guarded.call(now);
    let given_up = guarded.fleet.given_up();
    Box::new(ToDo { called, given_up, news: !guarded.fleet.events().is_empty() })
}

impl Guarded {
    #[cold]
    pub(super) fn call(&mut self, now: Time) -> Vec<Waker> {
        self.fleet.serve(now);
        self.wakers.called(&mut self.fleet)
    }
}

impl Scheduler {
    /// Ends a verb: wakes who may go, and tells what has happened.
    #[inline]
    pub(super) fn unlock(&self, guarded: MutexGuard<'_, Guarded>, now: Time) {
        self.finish(after(guarded, now));
    }

    /// Both are somebody else's code: so without any lock.
    #[inline]
    pub(super) fn finish(&self, after: After) {
        if let Some(to_do) = after.0 {
            self.do_it(*to_do);
        }
    }

    #[cold]
    fn do_it(&self, to_do: ToDo) {
        wake(to_do.called);
        to_do.given_up.iter().for_each(Route::evict);
        if to_do.news {
            self.tell();
        }
    }
}
