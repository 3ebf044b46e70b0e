//! Refusals of a login one after the other, in the order in which they were sent.
//!
//! A refusal is back long before an answer: of what was sent at once, the refused are known when nothing else is. So they are
//! not compared with what was accepted between two reports, but with all that was sent between them and was not refused.

/// Those that were refused lately.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Row {
    /// Turns before this one say nothing.
    from: u64,
    /// The turns of the first and of the last that was refused.
    first: u64,
    last: u64,
    refused: u64,
    /// Sent after the first of them, and ended without a word.
    silent: u64,
    /// The last turn that was accepted, or of which nothing counts; how many were refused since, and how many ended without a word.
    clean: u64,
    all: u64,
    mute: u64,
    /// Of those that were refused lately: those that the proxy refused for sure, and those that a site may have refused in its name.
    sure: u64,
    hearsay: u64,
    /// Those that the proxy refused for sure before it rested for what a site may have said, with nothing accepted since.
    before: u64,
    /// As many more than others stop it, once it is doubted.
    pub(super) enough: u64,
}

impl Row {
    /// What had its turn until then says nothing.
    pub(super) fn after(turn: u64) -> Self {
        Self { from: turn + 1, clean: turn, ..Self::default() }
    }

    /// The same after a rest for hearsay: what the proxy itself has refused still counts.
    pub(super) fn after_hearsay(&self, turn: u64, enough: u64) -> Self {
        Self { before: self.before + self.sure, enough, ..Self::after(turn) }
    }

    /// Whether it says anything.
    pub(super) const fn knows(&self, turn: u64) -> bool {
        turn >= self.from
    }

    /// Whether it was sent after all that were refused.
    pub(super) const fn is_newer(&self, turn: u64) -> bool {
        turn > self.last
    }

    pub(super) fn refuse(&mut self, turn: u64, hearsay: bool) {
        *(if hearsay { &mut self.hearsay } else { &mut self.sure }) += 1;
        self.refused += 1;
        self.all += 1;
        (self.first, self.last) = match self.refused {
            1 => (turn, turn),
            _ => (self.first.min(turn), self.last.max(turn)),
        };
        if self.most() == 0 {
            (self.first, self.last, self.refused, self.silent) = (turn, turn, 1, 0);
        }
    }

    /// Whether what sites may have forged has no part in it, or is not needed: as many were refused without.
    pub(super) const fn is_proven(&self, enough: u64) -> bool {
        self.hearsay == 0 || self.before + self.sure >= enough
    }

    /// Whether the proxy alone has refused as many, before a rest for hearsay and after.
    pub(super) const fn is_refused_across_rests(&self, enough: u64) -> bool {
        self.before > 0 && self.before + self.sure >= enough
    }

    /// A lease has ended without a word.
    pub(super) const fn end(&mut self, turn: u64) {
        if self.refused > 0 && turn > self.first {
            self.silent += 1;
        }
        if turn > self.clean {
            self.mute += 1;
        }
    }

    /// Whoever was refused before was a stray.
    pub(super) fn accept(&mut self, turn: u64) {
        if turn >= self.last {
            let clean = self.clean.max(turn);
            *self = Self { from: turn, enough: self.enough, clean, ..Self::default() };
        }
    }

    /// How many more were refused than were not, of all that were sent from the first to the last of them.
    pub(super) fn most(&self) -> u64 {
        let sent = (self.last - self.first + 1).saturating_sub(self.silent).max(self.refused);
        (2 * self.refused).saturating_sub(sent)
    }

    /// The same of all that were sent since one was accepted: of a hundred that were sent at once, the ninety whose answers are
    /// still out were not refused either.
    pub(super) fn most_of_all(&self) -> u64 {
        let sent = (self.last - self.clean).saturating_sub(self.mute).max(self.all);
        (2 * self.all).saturating_sub(sent)
    }
}
