//! The noun a caller asks for.

use super::{Affinity, Filter, Freshness, Granularity, Key, OnLoss, Origin, Scope, Trail};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// What a caller asks for: one attempt through an exit that suits. Put it into a request's extensions for the layers, or
/// hand it to [`Scheduler::lease`](crate::Scheduler::lease). A clone is cheap.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    pub(crate) key: Key,
    pub(crate) class: Option<Key>,
    pub(crate) origin: Option<Origin>,
    pub(crate) granularity: Granularity,
    pub(crate) affinity: Affinity,
    pub(crate) worker: Option<Key>,
    pub(crate) scope: Option<Scope>,
    pub(crate) on_loss: Option<OnLoss>,
    pub(crate) exclusive: bool,
    pub(crate) freshness: Freshness,
    pub(crate) accepted: Option<u32>,
    pub(crate) deadline: Duration,
    pub(crate) patience: Duration,
    pub(crate) repeatable: Option<bool>,
    pub(crate) max_sends: Option<NonZeroU32>,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) trail: Trail,
}

/// A window's length unless told otherwise.
const WINDOW: Duration = Duration::from_secs(600);
/// The deadline over all attempts and waits unless told otherwise.
const DEADLINE: Duration = Duration::from_secs(120);
/// How long a wait for an exit may be unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

impl LeaseRequest {
    /// An exit held for `key` at each origin, for windows of 600 s.
    #[must_use]
    pub fn new(key: impl Into<Key>) -> Self {
        Self {
            key: key.into(),
            class: None,
            origin: None,
            granularity: Granularity::Windowed { max_age: Some(WINDOW), max_uses: None },
            affinity: Affinity::Key,
            worker: None,
            scope: None,
            on_loss: None,
            exclusive: false,
            freshness: Freshness::Keep,
            accepted: None,
            deadline: DEADLINE,
            patience: PATIENCE,
            repeatable: None,
            max_sends: None,
            filter: None,
            trail: Trail::default(),
        }
    }

    /// Another exit for every request, chosen by heat and load. The key is empty.
    #[must_use]
    pub fn per_request() -> Self {
        Self { granularity: Granularity::PerRequest, ..Self::new("") }
    }

    /// An identity: one exit for life at all origins, which never changes silently. When it is lost the request is refused,
    /// with the old exit and the new one, before a byte is sent; [`generation`](Self::generation) accepts the move.
    #[must_use]
    pub fn identity(key: impl Into<Key>) -> Self {
        Self { granularity: Granularity::Static, on_loss: Some(OnLoss::Fail), ..Self::new(key) }
    }

    /// Sets the granularity.
    #[must_use]
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.granularity = granularity;
        self
    }

    /// Holds an exit for windows of `max_age`. Below 1 ms counts as 1 ms.
    #[must_use]
    pub fn windowed(self, max_age: Duration) -> Self {
        let max_uses = match self.granularity {
            Granularity::Windowed { max_uses, .. } => max_uses,
            Granularity::PerRequest | Granularity::Static => None,
        };
        self.granularity(Granularity::Windowed { max_age: Some(max_age), max_uses })
    }

    /// Holds an exit for at most `uses` leases, within the window if there is one.
    #[must_use]
    pub fn max_uses(self, uses: NonZeroU32) -> Self {
        let max_age = match self.granularity {
            Granularity::Windowed { max_age, .. } => max_age,
            Granularity::PerRequest | Granularity::Static => None,
        };
        self.granularity(Granularity::Windowed { max_age, max_uses: Some(uses) })
    }

    /// Sets who shares the exit. Default: the key.
    #[must_use]
    pub fn affinity(mut self, affinity: Affinity) -> Self {
        self.affinity = affinity;
        self
    }

    /// Shares the exit with all requests of this worker, whatever their keys.
    #[must_use]
    pub fn worker(mut self, worker: impl Into<Key>) -> Self {
        self.worker = Some(worker.into());
        self.affinity(Affinity::Worker)
    }

    /// Sets where the exit is held. Default: windows per origin, an exit for life at all origins.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Sets what happens when the held exit is lost. Default: windows move, an exit for life waits.
    #[must_use]
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.on_loss = Some(on_loss);
        self
    }

    /// Keeps everybody else off the exit while it is held.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Sets who may use the connection again. Default: whoever leases the exit.
    #[must_use]
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = freshness;
        self
    }

    /// Accepts that the held exit was replaced as often as this: the answer to [`LeaseError::Moved`], said from then on. Who
    /// [fails](OnLoss::Fail) on a loss gets only the exit of the generation that it knows, 0 unless it says another, so that
    /// no move is silent for anybody who shares the key.
    ///
    /// [`LeaseError::Moved`]: crate::LeaseError::Moved
    #[must_use]
    pub fn generation(mut self, generation: u32) -> Self {
        self.accepted = Some(generation);
        self
    }

    /// The site. The lease layer takes it from the URI; a plain caller must say it.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<Origin>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Most time for everything up to the answer's head: all attempts and all waits. Default 120 s.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Most time that one attempt waits in line for an exit to come back, when none may go now; within the deadline. If none
    /// can be back by then it is refused at once. Default 30 s. Zero: it never waits, as [`Scheduler::lease`] does not, and passes
    /// nobody who does: where others wait for the same it is refused with [`LeaseError::Behind`](crate::LeaseError::Behind).
    ///
    /// [`Scheduler::lease`]: crate::Scheduler::lease
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Its class, where the scheduler has [some](crate::scheduler::Builder::class): each has its share where requests wait in
    /// line. Default: `default`. A class that was not declared is a misuse.
    #[must_use]
    pub fn class(mut self, class: impl Into<Key>) -> Self {
        self.class = Some(class.into());
        self
    }

    /// How often the request is sent at most, the first time included. Default: as the scheduler's rules say, 4.
    #[must_use]
    pub fn attempts(mut self, sends: NonZeroU32) -> Self {
        self.max_sends = Some(sends);
        self
    }

    /// Whether the request may be sent again although the origin may have acted on it. Unless said, the retry layer goes
    /// by the method (RFC 9110, 9.2.2), and a plain caller's request is not.
    #[must_use]
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = Some(repeatable);
        self
    }

    /// Wants an exit of this [pool](crate::exit::Pool); said again, of one of them. What is held under one filter is not held
    /// under another: the key has an exit for each.
    #[must_use]
    pub fn pool(self, name: &str) -> Self {
        self.filtered(|filter| filter.pools.push(name.into()))
    }

    /// Wants an exit in this country, two letters: of the pools that [say so](crate::exit::Pool::country).
    #[must_use]
    pub fn country(self, country: &str) -> Self {
        self.filtered(|filter| filter.country = Some(country.to_ascii_lowercase().into()))
    }

    /// Wants an exit of this kind: of the pools that [say so](crate::exit::Pool::kind).
    #[must_use]
    pub fn kind(self, kind: &str) -> Self {
        self.filtered(|filter| filter.kind = Some(kind.into()))
    }

    fn filtered(mut self, change: impl FnOnce(&mut Filter)) -> Self {
        change(Arc::make_mut(self.filter.get_or_insert_default()));
        self
    }

    /// Where the exit is held, if one is.
    #[inline]
    pub(crate) fn held_at(&self) -> Scope {
        match (self.affinity, self.scope) {
            // What shares an exit is the origin itself.
            (Affinity::Origin, _) => Scope::PerOrigin,
            // One exit of the whole pool.
            (Affinity::RoundRobin, _) => Scope::AllOrigins,
            (Affinity::Key | Affinity::Worker, Some(scope)) => scope,
            (Affinity::Key | Affinity::Worker, None) => match self.granularity {
                Granularity::Static => Scope::AllOrigins,
                Granularity::PerRequest | Granularity::Windowed { .. } => Scope::PerOrigin,
            },
        }
    }

    /// Whether the request may use what is held in that generation: who wants to be told of a loss says which one it knows.
    #[inline]
    pub(crate) fn knows(&self, generation: u32) -> bool {
        !matches!(self.on_loss, Some(OnLoss::Fail)) || self.knows_of(generation)
    }

    #[cold]
    fn knows_of(&self, generation: u32) -> bool {
        self.granularity.window().1.is_some() || self.accepted.unwrap_or(0) == generation
    }

    pub(crate) fn when_lost(&self) -> OnLoss {
        let own = if self.granularity == Granularity::Static { OnLoss::Wait } else { OnLoss::Move };
        self.on_loss.unwrap_or(own)
    }

    /// What no setter can refuse.
    #[inline]
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        if !self.exclusive && matches!(self.affinity, Affinity::Key | Affinity::Origin) {
            return None;
        }
        match (self.granularity, self.affinity) {
            (Granularity::Static, Affinity::RoundRobin) => Some(
                "an exit for life cannot take turns; ask for a window, or share by key, worker or origin",
            ),
            (_, Affinity::Worker) if self.worker.is_none() => Some(
                "the request shares its worker's exit but names no worker; say it with LeaseRequest::worker",
            ),
            (Granularity::PerRequest, _) if self.exclusive => {
                Some("an exit that is not held cannot be exclusive; ask for a window, or for one for life")
            }
            (_, Affinity::RoundRobin) if self.exclusive => {
                Some("an exit of the whole pool cannot be exclusive; share by key, worker or origin")
            }
            _ => None,
        }
    }
}
