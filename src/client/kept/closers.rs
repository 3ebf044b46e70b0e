//! Exits that close after an answer without saying so: for a while no connection to them is worth keeping.

use crate::exit::ExitId;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// How long an exit stays marked. Then one connection is kept again, to see.
const MEMORY: Duration = Duration::from_secs(60);
/// Most exits that are marked at once; one more forgets the one marked first.
const MAX: usize = 1024;

/// The marked exits. All marks last equally long, so that the order of marking is that of expiry.
#[derive(Default)]
pub(super) struct Closers {
    marked: HashSet<ExitId>,
    order: VecDeque<(ExitId, Instant)>,
}

impl Closers {
    pub(super) fn mark(&mut self, exit: ExitId, now: Instant) {
        self.forget(now);
        if !self.marked.insert(exit) {
            return;
        }
        self.order.push_back((exit, now));
        if self.order.len() > MAX {
            self.forget_first();
        }
    }

    pub(super) fn contains(&mut self, exit: ExitId, now: Instant) -> bool {
        self.forget(now);
        self.marked.contains(&exit)
    }

    fn forget(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(_, since)| now.duration_since(*since) >= MEMORY) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((exit, _)) = self.order.pop_front() {
            self.marked.remove(&exit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Closers, MAX, MEMORY};
    use crate::exit::{Exit, ExitId};
    use std::time::Duration;
    use tokio::time::Instant;

    fn exit(number: usize) -> ExitId {
        Exit::parse(&format!("http://user{number}:pw@127.0.0.1:1")).unwrap().id()
    }

    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_mark_lasts_its_time_and_is_not_prolonged() {
        let (mut closers, start) = (Closers::default(), now());
        closers.mark(exit(1), start);
        closers.mark(exit(1), start + MEMORY / 2);
        assert!(closers.contains(exit(1), start + MEMORY - Duration::from_millis(1)));
        assert!(!closers.contains(exit(2), start));
        assert!(!closers.contains(exit(1), start + MEMORY));
        closers.mark(exit(1), start + MEMORY);
        assert!(closers.contains(exit(1), start + MEMORY));
    }

    #[test]
    fn too_many_forget_the_first() {
        let (mut closers, now) = (Closers::default(), now());
        for number in 0..=MAX {
            closers.mark(exit(number), now);
        }
        assert!(!closers.contains(exit(0), now));
        assert!(closers.contains(exit(1), now) && closers.contains(exit(MAX), now));
        assert_eq!((closers.marked.len(), closers.order.len()), (MAX, MAX));
    }
}
