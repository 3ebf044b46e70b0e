//! tower's retry layer around a random exit, with tower's own backoff and budget.

use super::service::{Of, SimWorld, Told};
use super::worker::Ask;
use crate::lab::sim::contender::{Next, Why};
use crate::lab::sim::luck::{For, Luck};
use crate::outcome::Failure;
use http::{Request, Response};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt as _;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::util::rng::Rng;

/// Each request is sent so often at most: tower sets no bound.
const MOST_SENDS: u32 = 8;

type Answer = Result<Response<String>, Failure>;

pub(super) fn ask(world: SimWorld, luck: Luck, own_jitter: bool) -> Ask {
    let budget = Arc::new(TpsBudget::default());
    Arc::new(move |job| {
        let key = if own_jitter { u64::from(job) } else { u64::MAX };
        let backoff = maker(Chance { luck, key, drawn: 0 }).make_backoff();
        let rules = Rules { budget: Arc::clone(&budget), backoff, left: MOST_SENDS - 1 };
        let mut request = Request::new(String::new());
        request.extensions_mut().insert(Of(job));
        let client = Retry::new(rules, world.clone());
        Box::pin(async move {
            let answer = client.oneshot(request).await;
            if is_served(&answer) { Next::Done } else { Next::GiveUp(Why::Exhausted) }
        })
    })
}

/// As tower's default one, but that its chance is the run's and not the process's.
fn maker(chance: Chance) -> ExponentialBackoffMaker<Chance> {
    let (first, most) = (Duration::from_millis(50), Duration::from_millis(u64::MAX));
    ExponentialBackoffMaker::new(first, most, 0.99, chance).expect("tower's own numbers")
}

fn is_served(answer: &Answer) -> bool {
    let told = answer.as_ref().ok().and_then(|response| response.extensions().get::<Told>());
    told.is_some_and(|Told(evidence)| evidence.outcome.is_ok())
}

/// A generator whose clones draw the same, as those of tower's own do.
#[derive(Clone, Debug)]
struct Chance {
    luck: Luck,
    key: u64,
    drawn: u64,
}

impl Rng for Chance {
    fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        self.luck.draw(For::Policy, &[self.key, self.drawn, 1])
    }
}

#[derive(Clone)]
struct Rules {
    budget: Arc<TpsBudget>,
    backoff: ExponentialBackoff<Chance>,
    left: u32,
}

impl Policy<Request<String>, Response<String>, Failure> for Rules {
    type Future = <ExponentialBackoff<Chance> as Backoff>::Future;

    fn retry(&mut self, _: &mut Request<String>, answer: &mut Answer) -> Option<Self::Future> {
        if is_served(answer) {
            self.budget.deposit();
            return None;
        }
        // Whoever may not be sent again in any case takes nothing.
        self.left = self.left.checked_sub(1)?;
        self.budget.withdraw().then(|| self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &Request<String>) -> Option<Request<String>> {
        Some(request.clone())
    }
}
