//! What was met at an origin since it said anything else: by whom, and which waits it asked for.

use crate::exit::ExitId;
use crate::pool::ix::ExitIx;
use crate::request::Time;
use std::time::Duration;

/// Failures that are remembered, and waits.
const MOST: usize = 32;
const MOST_WAITS: usize = 8;
/// The least that one exit, and each of two, must meet.
const ALONE: usize = 3;
const TWICE: usize = 2;

/// Who tells of it. What a gateway may have said itself, all its exits tell as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Witness {
    Exit(ExitId),
}

/// A failure that an exit met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    pub(super) exit: ExitIx,
    pub(super) id: ExitId,
    pub(super) who: Witness,
    pub(super) at: Time,
    /// Until when it asks to be left alone.
    pub(super) until: Time,
    /// What it cost the pair in heat.
    pub(super) heated: bool,
}

/// The failures since the origin said anything else, and how it was held for them.
#[derive(Default, Debug)]
pub(in crate::pool) struct Trouble {
    pub(super) met: Vec<Met>,
    /// Those that asked for a wait: canaries' as well.
    waits: Vec<Met>,
    /// Failures in a row.
    pub(super) row: u32,
    /// How often in a row it was held, and since when.
    pub(super) holds: u32,
    pub(super) since: Time,
}

/// How many different ones tell of it.
fn witnesses(met: &[Met]) -> usize {
    let first = |at: &usize| met[..*at].iter().all(|before| before.who != met[*at].who);
    (0..met.len()).filter(first).count()
}

/// Whether as many tell of it as must: all of them, more than once, if there are fewer. `are_all` says whether there is nobody
/// who is none of these.
pub(super) fn are_enough(met: &[Met], exits: usize, are_all: impl Fn(&[Met]) -> bool) -> bool {
    let told = witnesses(met);
    if told >= exits {
        return true;
    }
    if met.len() < ALONE.max(TWICE * told) {
        return false;
    }
    let twice = |one: &Met| met.iter().filter(|other| other.who == one.who).count() >= TWICE;
    met.iter().all(twice) && are_all(met)
}

impl Trouble {
    /// One more failure; those that are too old go.
    pub(super) fn add(&mut self, met: Met, within: Duration) {
        self.met.retain(|before| met.at.since(before.at) <= within);
        keep(&mut self.met, met, MOST);
        self.row = self.row.saturating_add(1);
        self.wait(met);
    }

    /// It may ask to be left alone.
    pub(super) fn wait(&mut self, met: Met) {
        if met.until > met.at {
            keep(&mut self.waits, met, MOST_WAITS);
        }
    }

    pub(super) fn exits(&self) -> usize {
        let first = |at: &usize| self.met[..*at].iter().all(|met| met.id != self.met[*at].id);
        (0..self.met.len()).filter(first).count()
    }

    /// Until when it is to be left alone by the word of as many exits as must: the last time that all of these ask for.
    pub(super) fn asked(&self, exits: usize, are_all: impl Fn(&[Met]) -> bool) -> Time {
        let mut waits = self.waits.clone();
        waits.sort_by(|a, b| b.until.cmp(&a.until));
        let enough = |len: &usize| are_enough(&waits[..*len], exits, &are_all);
        (1..=waits.len()).find(enough).map_or(Time::ZERO, |len| waits[len - 1].until)
    }
}

fn keep(list: &mut Vec<Met>, met: Met, most: usize) {
    if list.len() == most {
        list.remove(0);
    }
    list.push(met);
}
