//! The way of an attempt: to the site and back, or until the time of its job is over.

use super::{Engine, Event};
use crate::fleet::SLOW;
use crate::lab::sim::contender::Next;
use crate::lab::sim::journal::{Heard, What};
use crate::lab::sim::queue::Planned;
use crate::lab::sim::world::{Attempt, Leg, Truth};
use crate::outcome::{Evidence, Outcome, Phase, Seen};
use crate::request::Time;

/// An attempt.
#[derive(Clone, Copy)]
pub(super) struct UnderWay {
    attempt: Attempt,
    sent: Time,
    /// What comes next, and its place in the queue.
    leg: Leg,
    planned: Option<Planned>,
    deadline: Time,
    late: Option<Planned>,
}

impl Engine<'_> {
    /// Sends it. What it does next, if the answer is there at once.
    pub(super) fn send(&mut self, now: Time, id: u32, exit: u32) -> Option<(Next, Truth)> {
        self.note(now, id, What::Send(exit));
        let known = &mut self.jobs[id as usize];
        let (job, number) = (known.job, known.sent);
        known.sent += 1;
        known.waited += now.since(known.idle.take().unwrap_or(now));
        self.metrics.sent(now, &job);
        let nth = self.world.use_exit(exit);
        let attempt = Attempt { job, number, exit, nth };
        let leg = self.world.send(now, &attempt);
        let planned = self.plan_leg(now, id, &leg);
        let deadline = self.contender.deadline(id);
        let way = UnderWay { attempt, sent: now, leg, planned, deadline, late: None };
        self.jobs[id as usize].under_way = Some(way);
        let next = self.advance(now, id);
        if let Some(way) = self.jobs[id as usize].under_way.as_mut().filter(|_| next.is_none()) {
            way.late = (deadline < Time::MAX).then(|| self.queue.plan(deadline, Event::Late(id)));
        }
        next
    }

    /// None for what is over at once.
    fn plan_leg(&mut self, now: Time, id: u32, leg: &Leg) -> Option<Planned> {
        (leg.at() > now).then(|| self.queue.plan(leg.at(), Event::Leg(id)))
    }

    /// An attempt under way: through the legs that are over, to its answer or the end of its time.
    pub(super) fn advance(&mut self, now: Time, id: u32) -> Option<(Next, Truth)> {
        let mut way = self.jobs[id as usize].under_way?;
        let attempt = way.attempt;
        while way.leg.at() <= now {
            if let Leg::Answered(_, answer) = way.leg {
                self.world.answered(&attempt, &answer);
                self.metrics.answered(&attempt, &answer);
                return Some(self.end_attempt(now, way, &answer.evidence, answer.truth));
            }
            let (at, answer) = self.world.arrive(now, &attempt);
            self.metrics.arrived(now, &attempt, answer.truth);
            self.metrics.bans(now, &self.world);
            way.leg = Leg::Answered(at, answer);
            way.planned = self.plan_leg(now, id, &way.leg);
            self.jobs[id as usize].under_way = Some(way);
        }
        if way.deadline > now {
            return None;
        }
        self.world.lose(&attempt, &way.leg);
        let cut = Evidence::of(Outcome::Interrupted { phase: Phase::Head });
        let cut = cut.seen(Seen::Unknown).blameless(now.since(way.sent) < SLOW);
        Some(self.end_attempt(now, way, &cut, Truth::Unreached))
    }

    fn end_attempt(&mut self, now: Time, way: UnderWay, evidence: &Evidence, truth: Truth) -> (Next, Truth) {
        let Attempt { job, exit, .. } = way.attempt;
        let known = &mut self.jobs[job.id as usize];
        (known.under_way, known.idle) = (None, Some(now));
        for planned in [way.planned, way.late].into_iter().flatten() {
            self.queue.take_back(planned);
        }
        self.journal.hear(now, job, Heard::Answer(exit, *evidence));
        (self.contender.answered(now, &job, exit, evidence, &self.world), truth)
    }
}
