//! So many workers who ask an origin as fast as the fleet lets them, in virtual time.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How long an answer takes.
pub(super) const LATENCY: Duration = Duration::from_millis(100);

/// What a while has brought.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Brought {
    pub(super) ok: u32,
    pub(super) refused: u32,
    /// The longest gap in it, and the last one, in seconds.
    pub(super) longest: f64,
    pub(super) gap: f64,
}

impl Brought {
    pub(super) fn share(self) -> f64 {
        f64::from(self.refused) / f64::from(self.ok + self.refused)
    }
}

/// What the origin says at that time to that exit.
type Answers = Box<dyn FnMut(Time, ExitId) -> Outcome>;

pub(super) struct Crowd {
    pub(super) world: World,
    pub(super) answers: Answers,
    workers: usize,
    /// Who is out, by when the answer comes.
    out: BinaryHeap<Reverse<(Time, u64)>>,
    grants: HashMap<u64, (Grant, Outcome)>,
}

impl Crowd {
    pub(super) fn new(
        setup: Setup,
        workers: usize,
        answers: impl FnMut(Time, ExitId) -> Outcome + 'static,
    ) -> Self {
        let answers = Box::new(answers);
        Self { world: World::new(setup), answers, workers, out: BinaryHeap::new(), grants: HashMap::new() }
    }

    pub(super) fn gap(&self) -> f64 {
        let origin = self.world.snapshot().origins.into_iter().next();
        origin.and_then(|origin| origin.gap).map_or(0.0, |gap| gap.as_secs_f64())
    }

    pub(super) fn go(&mut self, time: Duration) -> Brought {
        let (mut brought, end) = (Brought::default(), self.world.now + time);
        while self.world.now < end {
            let next = self.ask().min(end);
            let first = self.out.peek().map(|Reverse((at, _))| *at);
            self.world.now = first.map_or(next, |at| at.min(next));
            self.answer(&mut brought);
        }
        brought.gap = self.gap();
        brought
    }

    /// Who is idle asks. Says when to ask again.
    fn ask(&mut self) -> Time {
        let now = self.world.now;
        while self.out.len() < self.workers {
            match self.world.at("a.test", &LeaseRequest::per_request()) {
                Ok(grant) => {
                    let outcome = (self.answers)(now + LATENCY / 2, grant.receipt.exit);
                    self.out.push(Reverse((now + LATENCY, grant.receipt.id.0)));
                    self.grants.insert(grant.receipt.id.0, (grant, outcome));
                }
                Err(Refusal::NoUsableExit { retry_at, .. } | Refusal::OriginHeld { retry_at, .. }) => {
                    let timer = self.world.fleet.pool.next_timer();
                    return retry_at.min(timer).max(now + Duration::from_millis(1));
                }
                Err(refusal) => panic!("{refusal:?}"),
            }
        }
        Time::MAX
    }

    fn answer(&mut self, brought: &mut Brought) {
        let now = self.world.now;
        while let Some(Reverse((_, id))) = self.out.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.out.pop();
            let (grant, outcome) = self.grants.remove(&id).unwrap();
            self.world.finish(&grant, outcome);
            brought.ok += u32::from(outcome.is_ok());
            if !outcome.is_ok() {
                brought.refused += 1;
                brought.longest = brought.longest.max(self.gap());
            }
        }
    }
}
