//! Rests that are no refusal of the origin's: an exit that does not reach it, a gateway that throttles, a session that is gone.

use super::Pool;
use super::Receipt;
use super::bits::{Bits, Out};
use super::charge::{DOUBTFUL, UNREACHED};
use super::event::Event;
use super::exits::Source;
use super::gate::State;
use super::ix::{ExitIx, OriginIx};
use super::refuse::paced;
use crate::draw::{Stream, draw, unit};
use crate::request::Time;
use std::time::Duration;

impl Pool {
    /// The session leads nowhere any more: a slot has another token from now on, and what holds one moves.
    pub(super) fn lose_session(&mut self, exit: ExitIx) {
        match self.exits.get_mut(exit) {
            Some(record) if matches!(record.source, Source::Minted { .. }) => record.gone = true,
            _ => self.exits.renew(exit),
        }
    }

    /// An exit could not reach a target. What that costs the exit, if anything: a target that nobody reaches is at fault itself,
    /// however many there are of them. Who reaches none at all is found out by those that work for others.
    pub(super) fn unreachable_target(&mut self, now: Time, by: &Receipt) -> Option<f32> {
        self.works_beside(now, by).then(|| {
            self.rest_pair(now, by, UNREACHED);
            DOUBTFUL
        })
    }

    /// Rests a pair that was not refused: its exit does not get through to the target. No strike,
    /// so that the pair is tried again as soon however often that fails: the request goes on through another exit.
    pub(super) fn rest_pair(&mut self, now: Time, by: &Receipt, rest: Duration) {
        let (exit, origin) = by.at;
        let known = self.exits.get(exit).filter(|record| record.id() == by.exit);
        if known.is_none_or(|record| matches!(record.source, Source::Rotating { .. })) {
            return;
        }
        let (origins, exits) = (&self.origins, &self.exits);
        let gone = |exit, origin| origins.get(origin).is_none() || exits.get(exit).is_none();
        let Some(slot) = self.pairs.make(now, exit, origin, gone) else {
            self.uncooled += 1;
            return;
        };
        let (seed, last) = (self.seed, self.is_last(exit, Some(origin)));
        self.with_pair(slot, |pair| {
            if pair.gate.is_stale(by.sent) {
                return;
            }
            let draw = draw(seed, Stream::Cooldown, by.exit.as_u64(), u64::from(pair.gate.shuts()));
            let rest = if last { paced(rest) } else { rest };
            pair.gate.shut(now, now + rest.mul_f64(1.0 + unit(draw) / 4.0));
            (pair.burned, pair.paced) = (false, last);
        });
        let state = self.pairs.get_mut(slot).map(|pair| pair.gate.state());
        self.tell_rest(now, by, Some(origin), state);
    }

    /// Rests an exit that is not at fault.
    pub(super) fn rest_exit(&mut self, now: Time, by: &Receipt, rest: Duration) {
        let exit = by.at.0;
        if self.exits.get(exit).is_none_or(|record| record.id() != by.exit) {
            return;
        }
        self.with_exit(exit, |record| {
            if record.gate.is_stale(by.sent) {
                record.gate.lengthen(now + rest);
            } else {
                record.gate.shut(now, now + rest);
            }
        });
        let state = self.exits.get(exit).map(|record| record.gate.state());
        self.tell_rest(now, by, None, state);
    }

    pub(super) fn tell_rest(&mut self, now: Time, by: &Receipt, at: Option<OriginIx>, state: Option<State>) {
        let Some(State::Resting { until }) = state else { return };
        let (exit, origin, rest) = (by.exit, at.and_then(|at| self.name(at)), Some(until.since(now)));
        self.events.tell(now, || Event::Rest { exit, origin, rest });
    }

    /// Whether it is a listed exit, and no other one can be used: at this origin, or anywhere.
    pub(super) fn is_last(&self, exit: ExitIx, at: Option<OriginIx>) -> bool {
        let listed = self.exits.get(exit).is_some_and(|record| record.source == Source::Listed);
        let nobody = Bits::default();
        let benched = at.and_then(|at| self.origins.get(at)).map_or(&nobody, |record| &record.benched);
        let out = Out::new([&self.down, &self.barred, &self.owned, benched, &nobody], self.exits.len());
        let other = |index| exit.index() != Some(index) && !self.exits.fixed[index].vacant;
        listed && out.first(0, other).is_none()
    }

    /// Whether another exit is but kept from its next use at the origin: it will be usable in a moment.
    pub(super) fn has_spaced(&self, exit: ExitIx, at: OriginIx) -> bool {
        let Some(record) = self.origins.get(at) else { return false };
        // What is left of a gap that is gone already says nothing.
        if record.gap.seconds() == 0.0 && self.exits.get(exit).is_none_or(|known| known.spacing == 0) {
            return false;
        }
        let is_out = |index| [&self.down, &self.barred, &self.owned].iter().any(|set| set.contains(index));
        let is_another = |index: usize| exit.index() != Some(index) && !self.exits.fixed[index].vacant;
        record
            .spaced
            .iter()
            .filter_map(|(_, other)| other.index())
            .any(|index| is_another(index) && !is_out(index))
    }
}
