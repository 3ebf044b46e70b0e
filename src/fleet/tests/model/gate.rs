//! What may be shut, as the documents say it: open, resting until a time, or for one lease at a time.

use super::reference::LeaseNo;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Open,
    Rests { until: u64 },
    Trial { by: Option<(LeaseNo, u64)>, passed: u8 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    mode: Mode,
    /// What was sent before is old news.
    news: u64,
}

impl Gate {
    pub(super) const OPEN: Self = Self { mode: Mode::Open, news: 0 };

    pub(super) fn at(&self, now: u64) -> Mode {
        match self.mode {
            Mode::Rests { until } if until <= now => Mode::Trial { by: None, passed: 0 },
            Mode::Trial { by: Some((_, until)), passed } if until <= now => Mode::Trial { by: None, passed },
            mode => mode,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    pub(super) fn rests(&self, now: u64) -> Option<u64> {
        if let Mode::Rests { until } = self.at(now) { Some(until) } else { None }
    }

    pub(super) fn on_trial(&self, now: u64) -> bool {
        matches!(self.at(now), Mode::Trial { by: Some(_), .. })
    }

    pub(super) fn is_doubted(&self, now: u64) -> bool {
        matches!(self.at(now), Mode::Trial { .. })
    }

    pub(super) fn admits(&self, now: u64) -> bool {
        matches!(self.at(now), Mode::Open | Mode::Trial { by: None, .. })
    }

    pub(super) const fn is_old(&self, sent: u64) -> bool {
        sent < self.news
    }

    pub(super) fn shut(&mut self, now: u64, until: u64) {
        if let Some(before) = self.rests(now) {
            assert!(until >= before, "a rest is shortened from {before} to {until}");
        }
        (self.mode, self.news) = (Mode::Rests { until }, now.saturating_add(1));
    }

    pub(super) fn lengthen(&mut self, now: u64, to: u64) {
        if let Some(until) = self.rests(now) {
            self.mode = Mode::Rests { until: until.max(to) };
        }
    }

    pub(super) fn doubt(&mut self, now: u64) {
        (self.mode, self.news) = (Mode::Trial { by: None, passed: 0 }, now);
    }

    /// What is behind it is new.
    pub(super) fn renew(&mut self, now: u64) {
        self.news = now;
    }

    /// Says whether the lease is a trial.
    pub(super) fn enter(&mut self, now: u64, lease: LeaseNo, until: u64) -> bool {
        self.mode = self.at(now);
        match &mut self.mode {
            Mode::Open => false,
            Mode::Trial { by, .. } => {
                assert_eq!(*by, None, "{lease:?}: a second trial at once");
                *by = Some((lease, until));
                true
            }
            Mode::Rests { until } => panic!("{lease:?} goes where one rests until {until}, at {now}"),
        }
    }

    /// How many trials have passed since its rest.
    pub(super) const fn passed(&self) -> u8 {
        if let Mode::Trial { passed, .. } = self.mode { passed } else { 0 }
    }

    pub(super) fn pass(&mut self, now: u64, lease: LeaseNo, needed: u8) {
        self.leave(now, lease);
        if let Mode::Trial { passed, .. } = &mut self.mode {
            *passed += 1;
            if *passed >= needed {
                self.mode = Mode::Open;
            }
        }
    }

    pub(super) fn leave(&mut self, now: u64, lease: LeaseNo) {
        self.mode = self.at(now);
        if let Mode::Trial { by, .. } = &mut self.mode {
            if by.is_some_and(|(who, _)| who == lease) {
                *by = None;
            }
        }
    }
}
