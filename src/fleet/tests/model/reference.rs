//! The naive reference: a list of all that has happened, and what the documents make of it. Nothing is kept besides; each
//! answer is computed from the first event on.

use super::gate::Gate;
use super::heat::{self, Seen};
use super::login::Login;
use super::steps::Want;
use crate::exit::ExitId;
use crate::outcome::{Evidence, OutcomeCounts};
use crate::request::Time;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct LeaseNo(pub(super) u64);

#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub(super) no: LeaseNo,
    /// Its exit's place in the pool, and the token that it had.
    pub(super) exit: usize,
    pub(super) token: ExitId,
    pub(super) origin: usize,
    pub(super) place_until: u64,
    /// How many exits its request has burned before.
    pub(super) burned: u8,
    pub(super) trial: bool,
    pub(super) charged: bool,
    pub(super) want: Want,
    /// The holder keeps another one.
    pub(super) lent: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Lease(Granted),
    Report { no: LeaseNo, said: Evidence, taken: bool, told: Told },
    Release { no: LeaseNo, good: bool, silent: bool },
    EndedWell { no: LeaseNo },
    Quarantine { exit: usize, on: bool },
    Password { exit: usize },
    Resume,
}

/// What observers were told while a report was taken: how long the dice let something rest is known only from there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Exit, origin, until when.
    pub(super) rests: Vec<(ExitId, Option<usize>, u64)>,
    pub(super) held: Vec<u64>,
    pub(super) stopped: u32,
    pub(super) resumed: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: u64,
    pub(super) what: What,
}

/// The pool: listed exits, and then the slots of one gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) listed: usize,
    pub(super) slots: usize,
    pub(super) origins: usize,
}

impl Layout {
    pub(super) const fn exits(self) -> usize {
        self.listed + self.slots
    }

    /// What stands behind one address and has one login: a listed exit alone, all slots together.
    pub(super) fn parent(self, exit: usize) -> usize {
        exit.min(self.listed)
    }
}

#[derive(Debug)]
pub(super) struct Reference {
    pub(super) layout: Layout,
    pub(super) events: Vec<Event>,
}

impl Reference {
    /// What is true now, from the list alone.
    pub(super) fn state(&self, now: u64) -> State {
        let mut state = State::new(self.layout);
        for event in &self.events {
            state.take(event);
        }
        state.now = now;
        state
    }

    /// The exit that somebody got last to hold it.
    pub(super) fn holds(&self, want: Want, origin: usize) -> Option<usize> {
        self.events.iter().rev().find_map(|event| match event.what {
            What::Lease(Granted { want: by, lent: false, exit, origin: at, .. }) => {
                let same = want == by && (!matches!(want, Want::Window(_)) || origin == at);
                same.then_some(exit)
            }
            _ => None,
        })
    }

    pub(super) fn push(&mut self, at: Time, what: What) {
        self.events.push(Event { at: at.as_nanos(), what });
    }
}

/// A pair that was refused at least once.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) gate: Gate,
    pub(super) seen: Vec<Seen>,
    pub(super) strikes: f64,
    pub(super) struck: u64,
    /// Its last rest followed a block; it was the last usable exit then.
    pub(super) burned: bool,
    pub(super) paced: bool,
    /// Successes since the last block, of what was sent after it.
    pub(super) calm: Option<u32>,
    /// Whose block raised a suspicion that no trial has settled, and whose trial showed that the last one was noise.
    pub(super) suspected_by: Option<LeaseNo>,
    pub(super) passed_by: Option<LeaseNo>,
}

#[derive(Clone, Debug)]
pub(super) struct ExitState {
    pub(super) gate: Gate,
    pub(super) quarantined: bool,
    pub(super) out: u32,
    /// Since something went well: when, where, and how much.
    pub(super) faults: Vec<(u64, usize, f64)>,
    pub(super) doublings: u32,
    pub(super) healthy_since: u64,
    /// How many tokens a slot had.
    pub(super) tokens: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) gate: Gate,
    pub(super) faults: u32,
    pub(super) doublings: u32,
    /// When it served each origin last. A listed exit's is thought of when it is first overloaded, and they are noted from then on.
    pub(super) watched: bool,
    pub(super) served: BTreeMap<usize, u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub(super) seen: Vec<Seen>,
    /// Through the gateway.
    pub(super) seen_behind: Vec<Seen>,
    pub(super) counts: OutcomeCounts,
    pub(super) leases: u64,
    /// When the last attempt was sent that ended well.
    pub(super) worked: Option<u64>,
    /// What trials have shown of the suspicions before them: that they were bans.
    pub(super) proofs: Vec<(LeaseNo, bool)>,
}

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) is: Granted,
    pub(super) sent: u64,
    /// How many tokens its exit had had.
    pub(super) tokens: u32,
    pub(super) over: bool,
    /// What was counted last, and when.
    pub(super) counted: Option<(Evidence, u64)>,
    /// Which lease of its login it is.
    pub(super) turn: u64,
    /// What it has cost its exit, in faults, and whether it has cost what the exit shares.
    pub(super) cost: (f64, bool),
}

pub(super) struct State {
    pub(super) now: u64,
    pub(super) layout: Layout,
    pub(super) pairs: BTreeMap<(usize, usize), Pair>,
    pub(super) exits: Vec<ExitState>,
    pub(super) logins: Vec<Login>,
    pub(super) addresses: Vec<Address>,
    pub(super) sites: Vec<Site>,
    pub(super) leases: BTreeMap<LeaseNo, Lease>,
}

impl State {
    fn new(layout: Layout) -> Self {
        let exit = ExitState {
            gate: Gate::OPEN,
            quarantined: false,
            out: 0,
            faults: Vec::new(),
            doublings: 0,
            healthy_since: 0,
            tokens: 0,
        };
        let login = |counts| Login {
            gate: Gate::OPEN,
            accepted: None,
            counts,
            entered: 0,
            row: Vec::new(),
            enough: 0,
            silent: 0,
            from: 0,
            clean: 0,
            all: 0,
            mute: 0,
            hearsay: 0,
            sure: 0,
            before: 0,
            refused: Vec::new(),
            doublings: 0,
        };
        let listed = layout.listed;
        let address =
            |watched| Address { gate: Gate::OPEN, faults: 0, doublings: 0, watched, served: BTreeMap::new() };
        Self {
            now: 0,
            layout,
            pairs: BTreeMap::new(),
            exits: vec![exit; layout.exits()],
            logins: (0..=listed).map(|parent| login(parent == listed)).collect(),
            addresses: (0..=listed).map(|parent| address(parent == listed)).collect(),
            sites: vec![Site::default(); layout.origins],
            leases: BTreeMap::new(),
        }
    }

    fn take(&mut self, event: &Event) {
        self.now = event.at;
        match &event.what {
            What::Lease(granted) => self.lease(granted),
            What::Report { no, said, taken, told } => self.report(*no, said, *taken, told),
            What::Release { no, good, silent } => self.release(*no, *good, *silent),
            What::EndedWell { no } => self.ended_well(*no),
            What::Quarantine { exit, on } => self.exits[*exit].quarantined = *on,
            What::Password { exit } => self.new_password(*exit),
            What::Resume => self.resume(),
        }
    }

    /// A lease goes through gates that are open, or takes the one place of a trial in those that are not.
    fn lease(&mut self, granted: &Granted) {
        let (now, parent) = (self.now, self.layout.parent(granted.exit));
        assert!(!self.exits[granted.exit].quarantined, "{granted:?} goes through an exit that is kept out");
        let (no, until) = (granted.no, granted.place_until);
        let mut trial = self.logins[parent].gate.enter(now, no, until);
        trial |= self.addresses[parent].gate.enter(now, no, until);
        trial |= self.exits[granted.exit].gate.enter(now, no, until);
        let mut paced = false;
        if let Some(pair) = self.pairs.get_mut(&(granted.exit, granted.origin)) {
            let tries = pair.gate.enter(now, no, until);
            trial |= tries;
            paced = tries && pair.paced;
        }
        assert_eq!(granted.trial, trial, "{granted:?} is a trial or not");
        assert_eq!(granted.charged, granted.burned < 2 || paced, "{granted:?}: a request burns two exits");
        self.exits[granted.exit].out += 1;
        self.sites[granted.origin].leases += 1;
        let tokens = self.exits[granted.exit].tokens;
        let login = &mut self.logins[parent];
        login.entered += u64::from(login.counts);
        let turn = login.entered;
        let cost = (0.0, false);
        let lease = Lease { is: *granted, sent: now, tokens, over: false, counted: None, turn, cost };
        assert!(self.leases.insert(no, lease).is_none(), "{granted:?}: a number is given once");
    }

    fn release(&mut self, no: LeaseNo, good: bool, silent: bool) {
        let now = self.now;
        let lease = self.leases.get_mut(&no).unwrap();
        assert!(!std::mem::replace(&mut lease.over, true), "{no:?} is released once");
        let (is, turn) = (lease.is, lease.turn);
        let parent = self.layout.parent(is.exit);
        self.exits[is.exit].out -= 1;
        let login = &mut self.logins[parent];
        login.silent += usize::from(silent && login.row.iter().min().is_some_and(|first| turn > *first));
        login.mute += usize::from(silent && turn > login.clean);
        self.logins[parent].gate.leave(now, no);
        self.addresses[parent].gate.leave(now, no);
        self.exits[is.exit].gate.leave(now, no);
        if let Some(pair) = self.pairs.get_mut(&(is.exit, is.origin)) {
            pair.gate.leave(now, no);
        }
        if good {
            self.ended_well(no);
        }
    }

    /// Earlier faults were not the exit's, and the origin works.
    fn ended_well(&mut self, no: LeaseNo) {
        let (lease, known) = (self.leases[&no].clone(), self.is_known(no));
        if known {
            self.exits[lease.is.exit].faults.clear();
        }
        let site = &mut self.sites[lease.is.origin];
        site.worked = site.worked.max(Some(lease.sent));
    }

    fn new_password(&mut self, exit: usize) {
        let (now, parent) = (self.now, self.layout.parent(exit));
        let login = &mut self.logins[parent];
        if login.gate.is_open() {
            login.gate.renew(now)
        } else {
            login.gate.doubt(now)
        }
        (login.accepted, login.doublings, login.enough, login.counts) = (None, 0, 0, true);
        login.forget_row(login.entered + 1);
        login.clean = login.entered;
        login.refused.clear();
    }

    fn resume(&mut self) {
        let now = self.now;
        let logins = self.logins.iter_mut().map(|login| (&mut login.gate, &mut login.doublings));
        let addresses = self.addresses.iter_mut().map(|address| (&mut address.gate, &mut address.doublings));
        for (gate, doublings) in logins.chain(addresses).filter(|(gate, _)| gate.rests(now).is_some()) {
            gate.doubt(now);
            *doublings = 0;
        }
    }

    /// Whether the exit still has the token that the lease went through.
    pub(super) fn is_known(&self, no: LeaseNo) -> bool {
        let lease = &self.leases[&no];
        self.exits[lease.is.exit].tokens == lease.tokens
    }

    /// Whether one more lease may go.
    pub(super) fn is_usable(&self, exit: usize, origin: usize) -> bool {
        let pair = self.pairs.get(&(exit, origin));
        self.may_go(exit) && pair.is_none_or(|pair| pair.gate.admits(self.now))
    }

    pub(super) fn may_go(&self, exit: usize) -> bool {
        self.gates_of(exit).iter().all(|gate| gate.admits(self.now)) && !self.exits[exit].quarantined
    }

    fn gates_of(&self, exit: usize) -> [&Gate; 3] {
        let parent = self.layout.parent(exit);
        [&self.logins[parent].gate, &self.addresses[parent].gate, &self.exits[exit].gate]
    }

    /// When the exit's rests are over; `None` if it has none.
    pub(super) fn rests(&self, exit: usize, origin: usize) -> Option<u64> {
        let pair = self.pairs.get(&(exit, origin)).map(|pair| &pair.gate);
        self.gates_of(exit).into_iter().chain(pair).filter_map(|gate| gate.rests(self.now)).max()
    }

    /// When the exit may be used again; `None` if that is no matter of time.
    pub(super) fn back(&self, exit: usize, origin: usize) -> Option<u64> {
        let pair = self.pairs.get(&(exit, origin)).map(|pair| &pair.gate);
        let tried = self.gates_of(exit).into_iter().chain(pair).any(|gate| gate.on_trial(self.now));
        self.rests(exit, origin).filter(|_| !tried && !self.exits[exit].quarantined)
    }

    /// Whether it is the last exit of a list that may go, at one origin or at all.
    pub(super) fn is_last(&self, exit: usize, origin: Option<usize>) -> bool {
        let goes = |other| origin.map_or_else(|| self.may_go(other), |origin| self.is_usable(other, origin));
        exit < self.layout.listed && (0..self.layout.exits()).all(|other| other == exit || !goes(other))
    }

    /// Whether what holds the exit has lost it, at this origin.
    pub(super) fn is_lost(&self, exit: usize, origin: usize) -> bool {
        let pair = self.pairs.get(&(exit, origin));
        let burned = pair.is_some_and(|pair| pair.burned && pair.gate.rests(self.now).is_some());
        burned || self.exits[exit].quarantined || !self.exits[exit].gate.admits(self.now)
    }

    pub(super) fn prior(&self, exit: usize, origin: usize) -> f64 {
        let site = &self.sites[origin];
        let prior = heat::prior(&site.seen, self.now);
        let behind = exit >= self.layout.listed && !site.seen_behind.is_empty();
        if behind { heat::rate(&site.seen_behind, self.now, prior) } else { prior }
    }

    pub(super) fn heat(&self, exit: usize, origin: usize) -> f64 {
        let prior = self.prior(exit, origin);
        self.pairs.get(&(exit, origin)).map_or(prior, |pair| heat::rate(&pair.seen, self.now, prior))
    }
}
