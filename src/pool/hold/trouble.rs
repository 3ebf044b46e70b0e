//! What was met at an origin since it said anything else: by whom, and which waits it asked for.

use crate::exit::ExitId;
use crate::pool::ix::{ExitIx, ParentIx};
use crate::request::Time;
use std::time::Duration;

/// Failures that are remembered; waits, and exchanges that broke.
const MOST: usize = crate::knobs::MOST_IN_A_ROW as usize;
const FEW: usize = 8;
/// What is taken back when the origin is held: what is older has been outlived.
const LATELY: Duration = Duration::from_secs(60);
/// The least that one exit, and each of two, must meet.
const ALONE: usize = 3;
const TWICE: usize = 2;

/// Who tells of it. What a gateway may have said itself, all its exits tell as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Witness {
    Exit(ExitId),
    Gateway(ParentIx),
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
    /// It cost the pair heat.
    pub(super) heated: bool,
    /// It costs the exit half a fault.
    pub(super) faulted: bool,
}

/// The failures since the origin said anything else, and how it was held for them.
#[derive(Default, Debug)]
pub(in crate::pool) struct Trouble {
    pub(super) met: Vec<Met>,
    /// Those that asked for a wait: canaries' as well.
    waits: Vec<Met>,
    /// Exchanges that broke: no failures, but as little the fault of as many exits.
    broke: Vec<Met>,
    pub(super) doubted: bool,
    /// Failures in a row.
    pub(super) row: u32,
    /// How often in a row it was held, and since when.
    pub(super) holds: u32,
    pub(super) held: Time,
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
    pub(super) fn add(&mut self, met: Met) {
        self.met.retain(|before| met.at.since(before.at) <= LATELY);
        keep(&mut self.met, met, MOST);
        self.row = self.row.saturating_add(1);
        self.wait(met);
    }

    /// The failures of that time.
    pub(super) fn since(&self, now: Time, within: Duration) -> &[Met] {
        let old = self.met.iter().take_while(|met| now.since(met.at) > within).count();
        &self.met[old..]
    }

    /// It may ask to be left alone.
    pub(super) fn wait(&mut self, met: Met) {
        if met.until > met.at {
            keep(&mut self.waits, met, FEW);
        }
    }

    /// An exchange broke. Says whose did, once they are as many as must.
    pub(super) fn breaks(&mut self, met: Met, exits: usize) -> Vec<Met> {
        keep(&mut self.broke, met, FEW);
        self.doubted |= witnesses(&self.broke) >= exits;
        if self.doubted { std::mem::take(&mut self.broke) } else { Vec::new() }
    }

    pub(super) fn exits(&self) -> usize {
        let first = |at: &usize| self.met[..*at].iter().all(|met| met.id != self.met[*at].id);
        (0..self.met.len()).filter(first).count()
    }

    /// Until when it is to be left alone by the word of as many exits as must: the last time that all of these ask for.
    pub(super) fn asked(&self, exits: usize, are_all: impl Fn(&[Met]) -> bool) -> Time {
        let mut waits = self.waits.clone();
        waits.sort_by_key(|met| std::cmp::Reverse(met.until));
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
