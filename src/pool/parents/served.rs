//! For whom a gateway worked lately: whether the word of one site against it stands alone.

use crate::pool::ix::OriginIx;
use crate::request::Time;
use std::time::Duration;

/// So long one that was served speaks for its gateway: as long as a wait is taken for that a site may have forged.
const LATELY: Duration = Duration::from_secs(60);

/// The last two origins that it served, the later one first.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Served([Option<(OriginIx, Time)>; 2]);

impl Served {
    #[inline]
    pub(super) fn note(&mut self, now: Time, origin: OriginIx) {
        if self.0[0].is_some_and(|(last, _)| last != origin) {
            self.0[1] = self.0[0];
        }
        self.0[0] = Some((origin, now));
    }

    /// Whether another than this one was served lately.
    pub(super) fn another(&self, now: Time, than: OriginIx) -> bool {
        self.0.iter().flatten().any(|(origin, at)| *origin != than && now.since(*at) <= LATELY)
    }
}
