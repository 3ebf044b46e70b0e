//! The line: who waits comes when it is called, and looks by itself when it said it would.

use super::play::{Player, Waiting};
use super::steps::{How, Want};
use crate::fleet::line::Waiter;
use crate::fleet::tests::secs;
use crate::fleet::{Refusal, Ticket, Turn};
use crate::request::{LeaseRequest, Time};

/// More turns than any story needs: a line that goes on without end is one that turns in place.
const TURNS: u32 = 20_000;

impl Player {
    /// Time passes, and whoever wants to look at a time before does.
    pub(super) fn pass(&mut self, to: Time) {
        for _ in 0..TURNS {
            let first = self.line.iter().map(|waiting| (waiting.alarm, waiting.ticket)).min();
            let Some((at, ticket)) = first.filter(|(at, _)| *at <= to) else {
                self.world.now = to;
                return self.settle();
            };
            self.world.now = self.world.now.max(at);
            self.claim(ticket);
            self.settle();
        }
        panic!("the line turns in place at {:?}: {} wait", self.world.now, self.line.len());
    }

    /// Whoever is called comes; where not all are prompt, every second one does not.
    pub(super) fn settle(&mut self) {
        for _ in 0..TURNS {
            self.world.fleet.serve(self.world.now);
            let Some(ticket) = self.world.fleet.poll_wake() else { return };
            self.note(&ticket);
            if self.prompt || ticket.index() % 2 == 0 {
                self.claim(ticket);
            }
        }
        panic!("there is always somebody to be woken");
    }

    pub(super) fn claim(&mut self, ticket: Ticket) {
        let Some(at) = self.line.iter().position(|waiting| waiting.ticket == ticket) else { return };
        match self.world.fleet.claim(self.world.now, ticket) {
            Turn::Wait { ticket: same } => {
                assert_eq!(same, ticket);
                assert!(self.line[at].until > self.world.now, "who has no patience left waits on");
                self.look_later(ticket);
            }
            Turn::Granted(grant) => {
                let who = self.line.remove(at);
                let (now, line) = (self.world.now, &self.world.fleet.line);
                let own = who.until <= now;
                // Who has been called as well is on its way.
                let waits = |other: &Waiting| {
                    line.get(other.ticket).is_some_and(Waiter::is_queued) && other.until > now
                };
                let same = |other: &&Waiting| is_any(other.want, &other.ask) && other.origin == who.origin;
                let overtakes = self.line[..at].iter().filter(same).any(waits) && is_any(who.want, &who.ask);
                assert!(!self.prompt || own || !overtakes, "first come, first served");
                self.granted(grant, who.want, who.origin, who.ask);
            }
            Turn::Refused(refusal) => {
                let who = self.line.remove(at);
                self.note(&refusal);
                let alone = self.line.iter().all(|other| other.origin != who.origin);
                if alone {
                    self.check_turned_away(&refusal, who.want, who.origin, &who.ask, who.until);
                }
            }
        }
    }

    pub(super) fn look_later(&mut self, ticket: Ticket) {
        let now = self.world.now;
        let alarm = self.world.fleet.wait(now, ticket).unwrap_or(now);
        let waiting = self.line.iter_mut().find(|waiting| waiting.ticket == ticket).unwrap();
        assert!(alarm >= now && alarm <= waiting.until, "{alarm:?}");
        waiting.alarm = alarm;
    }

    /// Nobody goes before those who wait for the same.
    pub(super) fn check_overtakes(&self, want: Want, origin: usize, ask: &LeaseRequest, until: Time) {
        let waits = |other: &Waiting| other.origin == origin && is_any(other.want, &other.ask);
        let same = self.line.iter().any(waits) && is_any(want, ask);
        assert!(!self.prompt || !same || until <= self.world.now, "{want:?} overtakes the line at {origin}");
    }

    /// Who could wait is turned away only if that cannot help.
    pub(super) fn check_turned_away(
        &mut self,
        refusal: &Refusal,
        want: Want,
        origin: usize,
        ask: &LeaseRequest,
        until: Time,
    ) {
        self.check_refusal(refusal, want, origin, ask);
        if let Refusal::NoUsableExit { retry_at, .. } = *refusal {
            let late = until <= self.world.now || retry_at > until || !ask.trail.refused.is_empty();
            assert!(late, "{want:?} may wait until {until:?}, and one is back at {retry_at:?}");
        }
    }

    /// All comes back, and time passes: then nobody waits, and nothing is out.
    pub(super) fn end(&mut self) {
        while let Some(over) = self.out.pop() {
            self.release(over, How::Done);
            self.settle();
        }
        for exit in 0..self.ids.len() {
            assert!(self.world.fleet.quarantine(self.ids[exit], false));
            self.list.push(self.world.now, super::reference::What::Quarantine { exit, on: false });
        }
        self.resume();
        self.settle();
        self.audit();
        // Nobody has more patience than 300 s. Each who comes to a lease gives it back.
        for _ in 0..31 {
            self.pass(self.world.now + secs(10));
            while let Some(over) = self.out.pop() {
                self.release(over, How::NotAttempted);
                self.settle();
            }
        }
        self.audit();
        let snapshot = self.world.snapshot();
        assert_eq!(
            (snapshot.in_flight, snapshot.waiting, snapshot.exits_in_use),
            (0, 0, 0),
            "somebody is stranded"
        );
        assert_eq!(self.world.fleet.poll_wake(), None);
    }
}

/// Whether it waits for any exit at its origin, as all who want that.
fn is_any(want: Want, ask: &LeaseRequest) -> bool {
    want == Want::Any && ask.trail.refused.is_empty()
}
