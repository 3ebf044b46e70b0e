//! A site, a list of exits and requests that come by chance, told just far enough to count blocks: in virtual time, with rests,
//! retries through other exits, and what follows from a verdict.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whether the site blocks: an exit, at a second, a request that it refuses everywhere.
pub(super) type Rule = fn(exit: usize, second: u64, poison: bool) -> f64;

#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) exits: usize,
    /// Requests per second.
    pub(super) rate: f64,
    /// The share of them that the site refuses everywhere.
    pub(super) poison: f64,
    pub(super) seconds: u64,
    pub(super) rule: Rule,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    poison: bool,
    sends: u64,
    blocks: u8,
    clean_blocks: u8,
    blocked: Option<u64>,
    avoid: [Option<usize>; 4],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Look,
    Come,
    Send(Request),
    Answer { request: Request, exit: usize, lease: u64, clean: bool, sent: u64 },
}

/// What was seen of one run.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Seen {
    /// Looks at the verdict, one in 5 s.
    pub(super) looks: u32,
    /// Those that found it to be such, and when it was so first.
    pub(super) request: Found,
    pub(super) pool: Found,
    pub(super) pattern: Found,
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Found {
    pub(super) looks: u32,
    pub(super) first: Option<u64>,
}

/// The pools, with requests per second.
pub(super) const POOLS: [(usize, f64); 3] = [(20, 4.0), (200, 25.0), (1_000, 60.0)];

pub(super) fn runs(plan: Plan, ids: &[ExitId], count: u64) -> Vec<Seen> {
    (0..count).map(|seed| Site::new(plan, ids, seed).run()).collect()
}

/// Of all looks, how many found so.
pub(super) fn share_of(runs: &[Seen], found: fn(&Seen) -> Found) -> f64 {
    let looks: u32 = runs.iter().map(|seen| seen.looks).sum();
    f64::from(runs.iter().map(|seen| found(seen).looks).sum::<u32>()) / f64::from(looks)
}

/// When half of the runs, and when nine in ten, had found so.
pub(super) fn soon(runs: &[Seen], found: fn(&Seen) -> Found) -> (u64, u64) {
    let mut first: Vec<_> = runs.iter().map(|seen| found(seen).first.unwrap_or(u64::MAX)).collect();
    first.sort_unstable();
    (first[runs.len() / 2], first[runs.len() * 9 / 10])
}

pub(super) struct Site<'a> {
    plan: Plan,
    ids: &'a [ExitId],
    dice: Dice,
    spread: Spread,
    knobs: knobs::Diagnosis,
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    /// Until when an exit rests, and since when.
    rests: Vec<(u64, u64)>,
    leases: u64,
}

const MS: u64 = 1_000_000;

impl<'a> Site<'a> {
    pub(super) fn new(plan: Plan, ids: &'a [ExitId], seed: u64) -> Self {
        let (rests, knobs) = (vec![(0, 0); plan.exits], knobs::Diagnosis::default());
        let (dice, spread) = (Dice(mix(seed)), Spread::new(at(0)));
        Self { plan, ids, dice, spread, knobs, steps: BinaryHeap::new(), rests, leases: 0 }
    }

    fn after(&mut self, now: u64, milliseconds: f64, step: Step) {
        let order = self.leases + u64::try_from(self.steps.len()).unwrap();
        self.steps.push(Reverse((
            now + Duration::from_secs_f64(milliseconds / 1e3).as_nanos() as u64,
            order,
            step,
        )));
    }

    pub(super) fn run(mut self) -> Seen {
        let mut seen = Seen::default();
        self.after(0, 0.0, Step::Come);
        self.after(0, 5_000.0, Step::Look);
        while let Some(Reverse((now, _, step))) = self.steps.pop() {
            if now > self.plan.seconds * 1_000 * MS {
                break;
            }
            match step {
                Step::Look => {
                    self.after(now, 5_000.0, Step::Look);
                    seen.looks += 1;
                    let found = match self.spread.holds().map(|diagnosis| diagnosis.cause) {
                        Some(Cause::Request) => &mut seen.request,
                        Some(Cause::Pool) => &mut seen.pool,
                        Some(Cause::Pattern) => &mut seen.pattern,
                        _ => continue,
                    };
                    found.looks += 1;
                    found.first.get_or_insert(now / 1_000 / MS);
                }
                Step::Come => {
                    let gap = -(1.0 - self.dice.unit()).ln() / self.plan.rate * 1e3;
                    self.after(now, gap, Step::Come);
                    let poison = self.dice.unit() < self.plan.poison;
                    self.after(now, 0.0, Step::Send(Request { poison, ..Request::default() }));
                }
                Step::Send(request) => self.send(now, request),
                Step::Answer { request, exit, lease, clean, sent } => {
                    self.answer(now, request, exit, (lease, clean, sent));
                }
            }
        }
        seen
    }

    fn is_request(&self) -> bool {
        self.spread.holds().is_some_and(|diagnosis| diagnosis.cause == Cause::Request)
    }

    fn send(&mut self, now: u64, request: Request) {
        let found = (0..40)
            .map(|_| self.dice.below(self.plan.exits))
            .find(|exit| self.rests[*exit].0 <= now && !request.avoid.contains(&Some(*exit)));
        // Nobody may go: it waits for a second.
        let Some(exit) = found else { return self.after(now, 1_000.0, Step::Send(request)) };
        self.leases += 1;
        let (lease, clean) = (self.leases, self.spread.clean.has(exit));
        let takes = 100.0 + 800.0 * self.dice.unit();
        self.after(now, takes, Step::Answer { request, exit, lease, clean, sent: now });
    }

    fn answer(
        &mut self,
        now: u64,
        mut request: Request,
        exit: usize,
        (lease, clean, sent): (u64, bool, u64),
    ) {
        let blocked = self.dice.unit() < (self.plan.rule)(exit, sent / 1_000 / MS, request.poison);
        let place = Some((exit, self.plan.exits));
        let (id, again) = (self.ids[exit], request.blocks > 0);
        let attempt = Attempt { exit: id, place, clean, again, blocked };
        self.spread.count(Time::from_nanos(now), attempt, Some(&self.knobs), || None);
        if !blocked {
            if let Some((by, _)) = request.blocked.and_then(|lease| self.spread.spared.take(LeaseId(lease))) {
                self.burn(now, by.at.0.index().unwrap(), by.sent.as_nanos());
            }
            return;
        }
        let spared = clean && self.is_request();
        if spared {
            let by = Receipt { id: LeaseId(lease), at: (ExitIx::at(exit), receipt(id).at.1), ..receipt(id) };
            self.spread.spared.keep(&Receipt { sent: Time::from_nanos(sent), ..by }, &BLOCKED.into());
            self.rests[exit].0 = self.rests[exit].0.max(now + 1_000 * MS);
        } else if request.blocks < 2 {
            self.burn(now, exit, sent);
        }
        request.avoid[usize::try_from(request.sends).unwrap()] = Some(exit);
        (request.sends, request.blocks) = (request.sends + 1, request.blocks + 1);
        if clean {
            (request.clean_blocks, request.blocked) = (request.clean_blocks + 1, Some(lease));
        }
        if request.sends < 4 && !(self.is_request() && request.clean_blocks >= 2) {
            let wait = 250.0 * self.dice.unit() * request.sends as f64;
            self.after(now, wait, Step::Send(request));
        }
    }

    fn burn(&mut self, now: u64, exit: usize, sent: u64) {
        self.spread.charged((exit, self.plan.exits));
        if sent >= self.rests[exit].1 {
            let rest = 30_000.0 * (1.0 + self.dice.unit() / 4.0);
            self.rests[exit] = (now + rest as u64 * MS, now);
        }
    }
}
