//! Plays a story: each step is done to the fleet, noted in the list, and its answer compared with what the list says.

use super::reference::{Granted, Layout, LeaseNo, Reference, State, What};
use super::steps::{Step, Story, Want};
use crate::exit::{ExitId, Gateway};
use crate::fleet::tests::{World, config, secs};
use crate::fleet::{Grant, Reason, Refusal, Taken, Ticket, Turn};
use crate::outcome::Evidence;
use crate::pool::{Blocked, ExitIx, OriginIx};
use crate::request::{Affinity, Granularity, LeaseRequest, Origin, Time};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::time::Duration;

/// A lease that is out, or was.
#[derive(Clone)]
pub(super) struct Out {
    pub(super) grant: Grant,
    pub(super) want: Want,
    pub(super) origin: usize,
    pub(super) ask: LeaseRequest,
    /// What it said last, and what was taken of it.
    pub(super) said: Option<Evidence>,
    pub(super) taken: Option<Taken>,
}

impl Out {
    pub(super) const fn at(&self) -> (ExitIx, OriginIx) {
        self.grant.receipt.at
    }

    pub(super) const fn origin(&self) -> usize {
        self.origin
    }
}

/// Somebody in the line.
pub(super) struct Waiting {
    pub(super) ticket: Ticket,
    pub(super) want: Want,
    pub(super) origin: usize,
    pub(super) ask: LeaseRequest,
    /// When its patience is over.
    pub(super) until: Time,
    /// When it looks by itself.
    pub(super) alarm: Time,
}

pub(super) struct Player {
    pub(super) world: World,
    pub(super) list: Reference,
    pub(super) names: Vec<Origin>,
    pub(super) line: Vec<Waiting>,
    pub(super) out: Vec<Out>,
    pub(super) old: Vec<Out>,
    pub(super) ids: Vec<ExitId>,
    pub(super) closed: bool,
    /// Who is called comes at once.
    pub(super) prompt: bool,
    /// Whether answers are compared with the list: where some who are called come late, they hold places of trials of
    /// which the list knows nothing.
    pub(super) checked: bool,
    /// Whether the fleet's own tables and figures are looked at after each step.
    pub(super) audited: bool,
    answers: DefaultHasher,
}

pub(super) fn ask(want: Want) -> LeaseRequest {
    match want {
        Want::Any => LeaseRequest::per_request(),
        Want::Turn => LeaseRequest::per_request().affinity(Affinity::RoundRobin),
        Want::Window(key) => LeaseRequest::new(format!("w{key}")).windowed(Duration::MAX),
        Want::Life(key) => LeaseRequest::new(format!("l{key}")).granularity(Granularity::Static),
        Want::Identity(key) => LeaseRequest::identity(format!("i{key}")),
    }
}

impl Player {
    pub(super) fn new(story: &Story) -> Self {
        let mut config = config(story.listed);
        // An origin that is left alone is nothing that the list knows: `tests/hold.rs` and `chaos.rs` have it.
        config.knobs.hold = None;
        config.seed = story.seed;
        // A machine of its own, over rates: `fleet/governor/tests.rs` has its worlds. What a limit does to a line `room.rs` tests.
        config.knobs.governor = None;
        // A story is too short for statistics, and they are reckoned by hand elsewhere: no block is laid to its request.
        config.knobs.diagnosis = None;
        // A gap is a long sum of what each 429 changed: a list would have to repeat it step by step. `pool/gap/` has tests
        // against limits instead.
        config.knobs.spacing = None;
        // It counts what is out, and so does not rest at the first word: `domains/throttle.rs`.
        config.knobs.throttle = None;
        if let Some(slots) = NonZeroU32::new(story.slots) {
            let gateway = Gateway::parse("http://u-{session}:p@slots.test:1").unwrap();
            config.gateways.push(gateway.sessions(slots));
        }
        let mut ids: Vec<_> = config.exits.iter().map(|exit| exit.id()).collect();
        ids.sort_unstable();
        let layout = Layout { listed: ids.len(), slots: story.slots as usize, origins: story.origins };
        let mut world = World::new(config);
        world.fleet.events().listen(true);
        Self {
            world,
            list: Reference { layout, events: Vec::new() },
            names: (0..story.origins).map(|at| Origin::new(&format!("{at}.test"))).collect(),
            line: Vec::new(),
            out: Vec::new(),
            old: Vec::new(),
            ids,
            closed: false,
            prompt: story.prompt,
            checked: story.prompt,
            audited: true,
            answers: DefaultHasher::new(),
        }
    }

    /// Plays it to its end, and answers with a hash of all answers.
    pub(super) fn play(mut self, story: &Story) -> u64 {
        for step in &story.steps {
            self.step(*step);
            self.settle();
            self.audit();
        }
        self.end();
        self.answers.finish()
    }

    /// The same, looking at nothing.
    pub(super) fn play_again(mut self, story: &Story) -> u64 {
        (self.checked, self.audited) = (false, false);
        self.play(story)
    }

    pub(super) fn state(&self) -> State {
        self.list.state(self.world.now.as_nanos())
    }

    pub(super) fn note(&mut self, answer: &impl Debug) {
        format!("{answer:?}").hash(&mut self.answers);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Pass(time) => self.pass(self.world.now + time),
            Step::ToRest(more) => self.pass_to_rest(more),
            Step::Lease { want, origin, deadline } => self.lease(want, origin, ask(want).deadline(deadline)),
            Step::Wait { want, origin, patience } => self.wait(want, origin, ask(want), patience),
            Step::Again { old, patience } => self.again(old, patience),
            Step::Once { want, origin, evidence, times } => self.once(want, origin, evidence, times),
            Step::Crowd { origin, many } => {
                (0..many).for_each(|_| self.wait(Want::Any, origin, ask(Want::Any), secs(300)));
            }
            Step::Strays { origin, many } => self.strays(origin, many),
            Step::AllWell => self.all_well(),
            Step::Claim { waiter } => {
                if let Some(ticket) = pick(&self.line, waiter).map(|waiting| waiting.ticket) {
                    self.claim(ticket);
                }
            }
            Step::Leave { waiter } => {
                if let Some(at) = index(&self.line, waiter) {
                    let ticket = self.line.remove(at).ticket;
                    self.world.fleet.leave(self.world.now, ticket);
                }
            }
            Step::Report { lease, evidence } => {
                if let Some(at) = index(&self.out, lease) {
                    let mut by = self.out[at].clone();
                    self.report(&mut by, evidence);
                    self.out[at] = by;
                }
            }
            Step::Late { old, evidence } => {
                if let Some(at) = index(&self.old, old) {
                    let mut by = self.old[at].clone();
                    self.report(&mut by, evidence);
                    self.old[at] = by;
                }
            }
            Step::Release { lease, how } => {
                if let Some(at) = index(&self.out, lease) {
                    let over = self.out.remove(at);
                    self.release(over, how);
                }
            }
            Step::EndedWell { old } => {
                if let Some(over) = pick(&self.old, old).cloned() {
                    self.world.fleet.ended_well(&over.grant.receipt);
                    self.list.push(self.world.now, What::EndedWell { no: LeaseNo(over.grant.receipt.id.0) });
                }
            }
            Step::Quarantine { exit, on } => {
                let exit = exit % self.ids.len();
                assert!(self.world.fleet.quarantine(self.ids[exit], on));
                self.list.push(self.world.now, What::Quarantine { exit, on });
            }
            Step::Password { exit } => {
                let exit = exit % self.ids.len();
                let all = super::super::exits(u16::try_from(self.ids.len()).unwrap());
                let new = all.iter().find(|known| known.id() == self.ids[exit]).unwrap();
                assert!(self.world.fleet.set_exit(self.world.now, new));
                self.list.push(self.world.now, What::Password { exit });
            }
            Step::Resume => self.resume(),
            Step::Close => {
                self.world.fleet.close();
                self.closed = true;
            }
        }
    }

    pub(super) fn resume(&mut self) {
        self.world.fleet.resume(self.world.now);
        self.closed = false;
        self.list.push(self.world.now, What::Resume);
    }

    fn pass_to_rest(&mut self, more: i8) {
        let next = self.world.fleet.pool.next_timer();
        if next < Time::MAX {
            let to = Time::from_nanos(next.as_nanos().saturating_add_signed(i64::from(more)));
            self.pass(to.max(self.world.now));
        }
    }

    pub(super) fn lease(&mut self, want: Want, origin: usize, ask: LeaseRequest) {
        let (want, origin) = self.possible(want, origin);
        let (now, name) = (self.world.now, self.names[origin].clone());
        let ask = Self::like(want, ask);
        match self.world.fleet.lease(now, &ask, &name) {
            Ok(grant) => self.granted(grant, want, origin, ask),
            Err(refusal) => {
                self.check_refusal(&refusal, want, origin, &ask);
                let refusal = self.world.fleet.refuse(now, &ask, &name, refusal);
                self.note(&refusal);
            }
        }
    }

    /// What is held leads to minted sessions where there is a gateway; the reference knows only places.
    fn possible(&self, want: Want, origin: usize) -> (Want, usize) {
        let holds = matches!(want, Want::Window(_) | Want::Life(_) | Want::Identity(_));
        let want = if holds && self.list.layout.slots > 0 { Want::Any } else { want };
        (want, origin % self.names.len())
    }

    fn like(want: Want, from: LeaseRequest) -> LeaseRequest {
        LeaseRequest { deadline: from.deadline, trail: from.trail, ..ask(want) }
    }

    pub(super) fn granted(&mut self, grant: Grant, want: Want, origin: usize, ask: LeaseRequest) {
        let ExitIx::Fixed(exit) = grant.receipt.at.0 else { panic!("nothing is minted: {grant:?}") };
        let (now, exit, token) = (self.world.now, exit as usize, grant.receipt.exit);
        self.note(&(grant.receipt, grant.reason, grant.trial));
        assert!(!self.closed, "a drained fleet gives no lease");
        assert!(grant.receipt.sent == now && grant.route.exit() == token);
        if let Some(listed) = self.ids.get(exit) {
            assert_eq!(*listed, token, "a listed exit is always the same");
        }
        if self.checked {
            self.check_grant(&grant, want, origin, exit, &ask);
        }
        let granted = Granted {
            no: LeaseNo(grant.receipt.id.0),
            exit,
            token,
            origin,
            place_until: (now + ask.deadline).as_nanos(),
            burned: ask.trail.burned,
            trial: grant.trial,
            charged: grant.receipt.charged,
            want,
            lent: matches!(grant.reason, Reason::Borrowed { .. }),
        };
        self.list.push(now, What::Lease(granted));
        self.out.push(Out { grant, want, origin, ask, said: None, taken: None });
    }

    pub(super) fn wait(&mut self, want: Want, origin: usize, ask: LeaseRequest, patience: Duration) {
        let (want, origin) = self.possible(want, origin);
        let ask = Self::like(want, ask);
        let (now, name, until) = (self.world.now, self.names[origin].clone(), self.world.now + patience);
        match self.world.fleet.lease_or_wait(now, &ask, &name, until) {
            Turn::Granted(grant) => {
                self.check_overtakes(want, origin, &ask, until);
                self.granted(grant, want, origin, ask);
            }
            Turn::Refused(refusal) => self.check_turned_away(&refusal, want, origin, &ask, until),
            Turn::Wait { ticket } => {
                assert!(until > now, "who has no patience does not wait");
                self.line.push(Waiting { ticket, want, origin, ask, until, alarm: now });
                self.look_later(ticket);
            }
        }
    }

    pub(super) fn check_refusal(&mut self, refusal: &Refusal, want: Want, origin: usize, ask: &LeaseRequest) {
        assert_eq!(matches!(refusal, Refusal::Closed), self.closed, "{refusal:?}");
        if let Refusal::NoUsableExit { retry_at, counts, by } = *refusal {
            assert!(retry_at >= self.world.now && counts.total() > 0);
            assert!(by != Blocked::ForGood || !ask.trail.refused.is_empty(), "{refusal:?}");
        }
        if self.checked && !self.closed {
            self.check_refused(refusal, want, origin, ask);
        }
    }
}

pub(super) fn index<T>(list: &[T], at: usize) -> Option<usize> {
    (!list.is_empty()).then(|| at % list.len())
}

pub(super) fn pick<T>(list: &[T], at: usize) -> Option<&T> {
    list.get(index(list, at)?)
}
