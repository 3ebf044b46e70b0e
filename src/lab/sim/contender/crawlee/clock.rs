//! The clock of a domain, as Crawlee 4 keeps it.

use crate::request::Time;
use std::time::Duration;

/// When a domain may be asked again: after 2 s, doubled to 60 s, or what the 429 said, to 60 s. Of a burst the first one counts.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    pub(super) until: Time,
    /// A 429 after this is the first of a new series.
    calm: Time,
    series: u32,
    /// When a job of it was over last, or when it was asked first.
    progress: Option<Time>,
}

impl Clock {
    const LONGEST: Duration = Duration::from_secs(60);
    const STALL: Duration = Duration::from_secs(900);

    /// Somebody wants it.
    pub(super) fn stirs(&mut self, now: Time) {
        self.progress.get_or_insert(now);
    }

    /// A job of it is over.
    pub(super) fn moves(&mut self, now: Time) {
        self.progress = Some(now);
    }

    /// It has limited everybody for 15 minutes: the crawl is given up.
    pub(super) fn stalls(&self, now: Time) -> bool {
        self.series > 0 && self.progress.is_some_and(|last| now.since(last) > Self::STALL)
    }

    pub(super) fn limited(&mut self, now: Time, hint: Option<Duration>) {
        if now < self.until {
            return;
        }
        self.series = if now >= self.calm { 1 } else { self.series + 1 };
        let doubled = Duration::from_secs(2_u64.saturating_pow(self.series));
        let wait = hint.unwrap_or(doubled).min(Self::LONGEST);
        (self.until, self.calm) = (now + wait, now + wait * 2);
    }
}
