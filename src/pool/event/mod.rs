//! What happens, as data: for observers and for `tracing`.

mod sentence;

use crate::error::UnusableCounts;
use crate::exit::ExitId;
use crate::outcome::{AuthReason, Egress, Multiplier, Outcome};
use crate::pool::{Diagnosis, Reason};
use crate::request::{Key, Origin, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// Something that happened to the fleet. What is told of it is what it decided, in the order in which it did. No event holds
/// a secret.
///
/// As text it is a plain sentence. With the feature `serde` it can be serialised: `event` is the variant's name, and times are in seconds.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Event {
    /// A lease was given.
    Lease {
        /// Its number: its reports have the same.
        lease: u64,
        /// Whose work it is.
        key: Key,
        /// The site.
        origin: Origin,
        /// The exit.
        exit: ExitId,
        /// How often the exit that is held was replaced; `None` if nothing is held.
        generation: Option<u32>,
        /// Why this exit.
        reason: Reason,
        /// It is the one trial of something that had to rest, or is doubted.
        trial: bool,
        /// The name of the exit's pool.
        pool: Key,
    },
    /// A request stands in line, since no exit may serve it now.
    Wait {
        /// Whose work it is.
        key: Key,
        /// The site.
        origin: Origin,
    },
    /// A lease was refused.
    Refusal {
        /// Whose work it is.
        key: Key,
        /// The site.
        origin: Origin,
        /// The refusal's name, one of a closed set: that of the [`LeaseError`](crate::LeaseError) in lower case, and for a held site
        /// what holds it: `origin_held_by_failures`, `origin_held_by_limit`.
        why: &'static str,
        /// How long until the first exit may serve it, where that is known.
        #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
        retry_in: Option<Duration>,
        /// Why each exit could not.
        counts: UnusableCounts,
    },
    /// An attempt was reported.
    Report {
        /// The number of its lease.
        lease: u64,
        /// The exit.
        exit: ExitId,
        /// The site.
        origin: Origin,
        /// What it showed.
        outcome: Outcome,
        /// It amends an earlier report of the same attempt.
        amends: bool,
    },
    /// The exit that a key holds leaves from another address, or country, than before, though its name is the same: the
    /// provider has changed it behind the session.
    LeaseChanged {
        /// Who holds it.
        key: Key,
        /// The site that was asked.
        origin: Origin,
        /// The exit.
        exit: ExitId,
        /// What was known of it.
        from: Egress,
        /// What it revealed now.
        to: Egress,
    },
    /// A site refuses a pool too often: new work for it goes to the next pool of its order.
    Escalated {
        /// The site.
        origin: Origin,
        /// The pool that was left.
        from: Key,
        /// The pool whose turn it is.
        to: Key,
        /// The share of refusals that it met lately, 0 to 1.
        refused: f32,
    },
    /// A pool that was left for a site's refusals serves it well again, and has its turn back.
    CameBack {
        /// The site.
        origin: Origin,
        /// The pool that was used meanwhile.
        from: Key,
        /// The pool whose turn it is again.
        to: Key,
        /// The share of refusals in its trial, 0 to 1.
        refused: f32,
    },
    /// What an origin's blocks depend on is clear, is something else than before, or is not clear any more.
    Diagnosed {
        /// The site.
        origin: Origin,
        /// What they depend on, and the figures.
        diagnosis: Diagnosis,
    },
    /// A site limits how often one exit may ask: its uses are kept apart from now on; or no more.
    Spaced {
        /// The site.
        origin: Origin,
        /// How far apart at first; the [snapshot](crate::scheduler::OriginSnapshot::gap) says how far by now. `None` when that is over.
        #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
        gap: Option<Duration>,
    },
    /// An exit rests.
    Rest {
        /// The exit.
        exit: ExitId,
        /// The site that refused it; `None` if it is dead, for all of them.
        origin: Option<Origin>,
        /// For how long, unless a hint lengthens it.
        #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
        rest: Option<Duration>,
    },
    /// A login was refused, and refused again when it was tried over a fresh connection: nothing goes out on it until somebody
    /// resumes it; or for up to a quarter of an hour if its traffic is used up, up to a minute if over plain `http://` the site
    /// may have [forged](crate::outcome::Evidence::hearsay) the refusals. Told of these once.
    CredentialStopped {
        /// An exit that has it.
        exit: ExitId,
        /// Why, as far as the proxy says.
        reason: AuthReason,
    },
    /// A login that was doubted or stopped works.
    CredentialResumed {
        /// An exit that has it.
        exit: ExitId,
    },
    /// A gateway is overloaded or unreachable, and left alone.
    GatewayHeld {
        /// An exit behind it.
        exit: ExitId,
        /// For how long.
        #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
        rest: Option<Duration>,
    },
    /// A gateway has too much to do: fewer leases may be out behind it at once.
    GatewaySlowed {
        /// Its host and port.
        gateway: String,
        /// As many were out at once.
        from: u32,
        /// As many may be now: fewer than that.
        to: u32,
    },
    /// Any number of leases may be out behind a gateway again: it refuses fewer, or as many whatever their number.
    GatewayUnlimited {
        /// Its host and port.
        gateway: String,
    },
    /// A site fails everybody, and is left alone as a whole until one request has tried it.
    OriginHeld {
        /// The site.
        origin: Origin,
        /// For how long, unless it asks for more.
        #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
        rest: Option<Duration>,
        /// As many exits met the failure since the last time; one, if the request that tried it did.
        exits: u32,
        /// The last status; `None` if it only asked for time.
        status: Option<u16>,
    },
    /// The site serves again, and those who wait for it come back one by one.
    OriginReleased {
        /// The site.
        origin: Origin,
    },
    /// Too many attempts fail at a site: fewer leases may be out there at once.
    Slowed {
        /// The site.
        origin: Origin,
        /// As many were out at once.
        from: u32,
        /// As many may be now.
        to: u32,
        /// Attempts per success, lately.
        multiplier: Multiplier,
    },
    /// As many attempts fail at a site as before with far fewer leases out: it is not how fast the fleet asks, but what it asks
    /// or through which exits. There may be more at once again.
    NotOurRate {
        /// The site.
        origin: Origin,
        /// Attempts per success before.
        before: Multiplier,
        /// Attempts per success with fewer leases out.
        after: Multiplier,
    },
    /// Any number of leases may be out at a site again.
    Unlimited {
        /// The site.
        origin: Origin,
        /// Attempts per success, lately; `None` if there were none.
        multiplier: Option<Multiplier>,
    },
    /// The fleet asks too hard: lower its concurrency, do not tune single backoffs.
    AsksTooHard {
        /// Attempts per success, lately.
        multiplier: Multiplier,
        /// The site where most of the attempts failed, if it is one.
        origin: Option<Origin>,
    },
    /// It does so no more.
    AsksWell {
        /// Attempts per success, lately.
        multiplier: Multiplier,
    },
}

/// What nobody has read yet: the oldest go first when there are too many.
pub(crate) struct Events {
    queue: VecDeque<(Time, Event)>,
    most: usize,
    /// Whether somebody wants to know of every lease and report.
    all: bool,
    lost: u64,
}

impl Events {
    pub(super) fn new(most: usize) -> Self {
        Self { queue: VecDeque::new(), most, all: false, lost: 0 }
    }

    pub(crate) fn push(&mut self, now: Time, event: Event) {
        if self.queue.len() >= self.most {
            self.queue.pop_front();
            self.lost += 1;
        }
        self.queue.push_back((now, event));
    }

    /// What happens all the time: made only if somebody listens.
    #[inline]
    pub(crate) fn tell(&mut self, now: Time, event: impl FnOnce() -> Event) {
        if self.all {
            self.push_made(now, event);
        }
    }

    /// Out of the way of those who listen to nothing.
    #[cold]
    #[inline(never)]
    fn push_made(&mut self, now: Time, event: impl FnOnce() -> Event) {
        self.push(now, event());
    }

    #[inline]
    pub(crate) const fn is_told_all(&self) -> bool {
        self.all
    }

    #[inline]
    pub(crate) fn listen(&mut self, all: bool) {
        self.all = all;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// All of them, oldest first.
    pub(crate) fn take(&mut self) -> VecDeque<(Time, Event)> {
        std::mem::take(&mut self.queue)
    }

    /// How many went unread.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(feature = "serde")]
#[allow(clippy::ref_option, reason = "as serde calls it")]
fn seconds<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_some(&duration.as_secs_f64()),
        None => serializer.serialize_none(),
    }
}
