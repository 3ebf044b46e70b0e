//! The gate in front of an exit, and of each pair of exit and origin: one mechanism for what is dead and for what cools.
//!
//! ```text
//!          shut                    rest is over                  enter
//!   Open ────────▶ Resting{until} ──────────────▶ Trial{nobody} ───────▶ Trial{lease}
//!    │ doubt          ▲                             ▲                      │
//!    ├────────────────│─────────────────────────────┘                      │
//!    │                │                             └── left, or too late ─┤
//!    │                └──────────────── refused again ─────────────────────┤
//!    └───────────────────────────────── passed, often enough ──────────────┘
//! ```

use super::receipt::LeaseId;
use crate::request::Time;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Open,
    /// Used a moment ago, and open again then: no word about what is behind it.
    Spaced {
        until: Time,
    },
    Resting {
        until: Time,
    },
    Trial {
        lease: Option<LeaseId>,
        until: Time,
        passed: u8,
    },
}

impl State {
    /// Whether one more lease may enter now.
    pub(crate) const fn admits(self) -> bool {
        matches!(self, Self::Open | Self::Trial { lease: None, .. })
    }

    /// Whether a lease is on trial in it.
    pub(crate) const fn is_taken(self) -> bool {
        matches!(self, Self::Trial { lease: Some(_), .. })
    }

    /// When the gate must be looked at again, by [`Gate::due`].
    pub(crate) const fn due_at(self) -> Option<Time> {
        match self {
            Self::Spaced { until } | Self::Resting { until } | Self::Trial { lease: Some(_), until, .. } => {
                Some(until)
            }
            Self::Open | Self::Trial { lease: None, .. } => None,
        }
    }
}

/// Shuts for a while, then lets one lease at a time try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    state: State,
    /// Attempts sent from then on say something new.
    news_from: Time,
    shuts: u32,
}

impl Gate {
    pub(crate) const OPEN: Self = Self { state: State::Open, news_from: Time::ZERO, shuts: 0 };

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// How often it was shut: the counter of its draws.
    pub(crate) const fn shuts(&self) -> u32 {
        self.shuts
    }

    /// Whether an attempt sent then says nothing new: the gate has been shut since.
    pub(crate) fn is_stale(&self, sent: Time) -> bool {
        sent < self.news_from
    }

    pub(crate) fn shut(&mut self, now: Time, until: Time) {
        self.state = State::Resting { until };
        self.news_from = now + Duration::from_nanos(1);
        self.shuts += 1;
    }

    /// Lets nobody through but one lease at a time, until one has passed: without a rest.
    pub(crate) fn doubt(&mut self, now: Time) {
        self.state = State::Trial { lease: None, until: now, passed: 0 };
        // There is no rest: what is sent in the same moment, but after, is news.
        self.news_from = now;
    }

    /// Keeps everybody out for a moment, if it is open.
    pub(crate) fn space(&mut self, until: Time) {
        if self.is_open() {
            self.state = State::Spaced { until };
        }
    }

    /// Nothing is known of what is behind it.
    pub(crate) fn forget(&mut self) {
        self.state = State::Open;
    }

    /// What is behind it is another one now: what was sent before says nothing of it.
    pub(crate) fn renew(&mut self, now: Time) {
        self.news_from = now;
    }

    /// Never shortens, and shuts nothing that is not resting.
    pub(crate) fn lengthen(&mut self, to: Time) {
        if let State::Resting { until } = &mut self.state {
            *until = to.max(*until);
        }
    }

    /// A rest that is over becomes a trial; a trial that takes too long gives its place up.
    pub(crate) fn due(&mut self, now: Time) {
        match &mut self.state {
            State::Spaced { until } if *until <= now => self.state = State::Open,
            State::Resting { until } if *until <= now => {
                self.state = State::Trial { lease: None, until: *until, passed: 0 };
            }
            State::Trial { lease, until, .. } if *until <= now => *lease = None,
            _ => {}
        }
    }

    /// Whether the lease that enters is a trial; its place is its own until then.
    pub(crate) fn enter(&mut self, by: LeaseId, place_until: Time) -> bool {
        let State::Trial { lease, until, .. } = &mut self.state else { return false };
        (*lease, *until) = (Some(by), place_until);
        true
    }

    /// A lease passed. Opens when `needed` trials have, one after the other.
    pub(crate) fn pass(&mut self, by: LeaseId, needed: u8) {
        let State::Trial { lease, passed, .. } = &mut self.state else { return };
        if *lease == Some(by) {
            *lease = None;
        }
        *passed = passed.saturating_add(1);
        if *passed >= needed {
            self.state = State::Open;
        }
    }

    /// A lease ended without telling: its place is free again.
    pub(crate) fn leave(&mut self, by: LeaseId) {
        if let State::Trial { lease, .. } = &mut self.state {
            if *lease == Some(by) {
                *lease = None;
            }
        }
    }
}
