//! How many leases may be out at one origin: fewer where too many attempts fail, more again where they succeed.
//!
//! There is no limit until attempts surely fail more often than four in five succeed; then the concurrency that there really is
//! is cut, and given back as long as all is well. An origin that fails as often whatever the concurrency is not helped by
//! less of it: it is let go, and left alone for a while.
//!
//! Only origins at which something has failed have a state here, until a healthy tick. There is no timer: a tick ends with the
//! first report after its time.

mod course;
#[cfg(test)]
mod tests;

use super::Fleet;
use crate::draw;
use crate::knobs::Governor;
use crate::outcome::{Evidence, Multiplier};
use crate::pool::{Event, OriginIx};
use crate::request::Time;
use course::{Act, Governed};

/// Those origins, by their places in the pool.
pub(super) struct Governors {
    knobs: Option<Governor>,
    places: Vec<Option<Box<Place>>>,
}

/// An origin may have been forgotten, and its place be another's.
struct Place {
    origin: OriginIx,
    governed: Governed,
}

impl Governors {
    pub(super) const fn new(knobs: Option<Governor>) -> Self {
        Self { knobs, places: Vec::new() }
    }

    #[inline]
    fn has(&self, origin: OriginIx) -> bool {
        self.places.get(origin.index()).is_some_and(Option::is_some)
    }

    fn get(&mut self, origin: OriginIx) -> Option<&mut Governed> {
        let place = self.places.get_mut(origin.index())?;
        if place.as_ref().is_some_and(|place| place.origin != origin) {
            *place = None;
        }
        place.as_mut().map(|place| &mut place.governed)
    }

    fn begin(&mut self, origin: OriginIx, governed: Governed) {
        let index = origin.index();
        if self.places.len() <= index {
            self.places.resize_with(index + 1, || None);
        }
        self.places[index] = Some(Box::new(Place { origin, governed }));
    }

    fn forget(&mut self, origin: OriginIx) {
        if let Some(place) = self.places.get_mut(origin.index()) {
            *place = None;
        }
    }

    /// The multiplier of the origin's last tick, if it has a state.
    pub(super) fn lately(&self, origin: OriginIx) -> Option<Multiplier> {
        let place = self.places.get(origin.index())?.as_ref().filter(|place| place.origin == origin)?;
        place.governed.lately().multiplier()
    }

    /// Whether fewer attempts at once were no cure there lately.
    pub(super) fn excuse(&self, origin: OriginIx) -> bool {
        let place = self.places.get(origin.index()).and_then(Option::as_ref);
        place.is_some_and(|place| place.origin == origin && place.governed.is_excused())
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

impl Fleet {
    /// One report, and what it amends.
    #[inline]
    pub(super) fn govern(
        &mut self,
        now: Time,
        (sent, at): (Time, OriginIx),
        said: &Evidence,
        amends: Option<&Evidence>,
    ) {
        // What succeeds where nothing has failed lately is nothing to look after.
        if self.governors.has(at) || !said.outcome.is_ok() {
            self.govern_rest(now, (sent, at), said, amends);
        }
    }

    #[inline(never)]
    fn govern_rest(
        &mut self,
        now: Time,
        (sent, at): (Time, OriginIx),
        said: &Evidence,
        amends: Option<&Evidence>,
    ) {
        let Some(knobs) = self.governors.knobs else { return };
        let success = said.outcome.success();
        let Some(governed) = self.governors.get(at) else {
            if success == Some(false) {
                self.begin_to_govern(now, at, &knobs);
            }
            return;
        };
        governed.count(sent, success, amends.and_then(|before| before.outcome.success()));
        if governed.may_end(&knobs, now) {
            let peak = self.pool.take_peak(at);
            if let Some(act) = governed.tick(&knobs, now, peak) {
                self.act(now, at, act);
            }
        }
    }

    #[cold]
    fn begin_to_govern(&mut self, now: Time, at: OriginIx, knobs: &Governor) {
        let Some(name) = self.pool.name(at) else { return };
        // What was out at once before says nothing about now.
        self.pool.take_peak(at);
        let hash = draw::mix(draw::text(name.as_str()) ^ self.pool.seed());
        self.governors.begin(at, Governed::new(knobs, now, hash));
    }

    #[cold]
    fn act(&mut self, now: Time, at: OriginIx, act: Act) {
        let limit = match act {
            Act::Cut { to, .. } | Act::Raise { to } | Act::LetGo { to, .. } => Some(to),
            Act::Lift { .. } => None,
            Act::Forget => return self.governors.forget(at),
        };
        self.pool.set_limit(at, limit);
        let Some(origin) = self.pool.name(at) else { return };
        let event = match act {
            Act::Cut { from, to, seen } => {
                seen.multiplier().map(|multiplier| Event::Slowed { origin, from, to, multiplier })
            }
            Act::LetGo { before, seen, .. } => before
                .multiplier()
                .zip(seen.multiplier())
                .map(|(before, after)| Event::NotOurRate { origin, before, after }),
            Act::Lift { seen } => Some(Event::Unlimited { origin, multiplier: seen.multiplier() }),
            Act::Raise { .. } | Act::Forget => None,
        };
        if let Some(event) = event {
            self.pool.events.push(now, event);
        }
    }
}
