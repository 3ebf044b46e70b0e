//! Gateways: overloaded, out of reach, at work again. What one says of itself is not its exits' fault.

use super::throttle::Turned;
use super::{Kind, ParentIx};
use crate::draw::{Stream, draw, unit};
use crate::outcome::{Evidence, GatewayScope};
use crate::pool::Pool;
use crate::pool::event::Event;
use crate::pool::exits::Source;
use crate::pool::ix::ExitIx;
use crate::pool::receipt::{Cost, Receipt};
use crate::request::Time;
use std::mem;
use std::time::Duration;

/// The first rest of an overloaded gateway; doubles up to 15 s.
const HOLD: Duration = Duration::from_millis(250);
const HOLD_MOST: Duration = Duration::from_secs(15);
/// The rest of an exit at a target that its gateway throttles, without saying for how long.
const THROTTLED: Duration = Duration::from_secs(1);
/// Failures in a row to connect that make a gateway unreachable, and its first rest; doubles up to a minute.
const FAULTS: u32 = 3;
const UNREACHABLE: Duration = Duration::from_secs(5);
const UNREACHABLE_MOST: Duration = Duration::from_secs(60);
/// Longest hint of a gateway that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);

impl Pool {
    /// The gateway of an exit. A listed exit that is alone behind its address is its own, thought of when it is first held.
    fn gateway(&mut self, exit: ExitIx) -> Option<ParentIx> {
        let record = self.exits.get(exit)?;
        if let [Some(known), _] = record.parents {
            return Some(known);
        }
        let (Source::Listed, ExitIx::Fixed(index)) = (record.source, exit) else { return None };
        let ix = self.parents.add(Kind::Gateway, vec![index]);
        self.exits.get_mut(exit)?.parents[0] = Some(ix);
        Some(ix)
    }

    /// What an attempt says of how much its gateway bears. Says whether that is all: it does not rest as a whole then.
    #[cold]
    fn throttle(&mut self, now: Time, by: &Receipt, refused: bool) -> bool {
        let (Some(rules), Some(ix)) = (self.knobs.throttle, by.gateway) else { return false };
        let turned = self.with_parent(ix, |parent| {
            let turned = parent.flow.note(&rules, now, by.sent, refused);
            if parent.flow.serves_half(&rules) {
                // A trial that is refused by chance is no reason for a longer rest.
                parent.doublings = 0;
            }
            turned
        });
        match turned.flatten() {
            Some(Turned::Cut { from, to }) => {
                let gateway = self.name_of_gateway(by.at.0);
                self.events.push(now, Event::GatewaySlowed { gateway, from, to });
            }
            Some(Turned::Lifted) => {
                let gateway = self.name_of_gateway(by.at.0);
                self.events.push(now, Event::GatewayUnlimited { gateway });
            }
            None => {}
        }
        self.parents.get(ix).is_some_and(|parent| parent.flow.helps(&rules) && parent.gate.is_open())
    }

    /// Its host and port: a login is no part of it.
    fn name_of_gateway(&self, exit: ExitIx) -> String {
        let route = self.exits.get(exit).map(|record| record.exit.route());
        route.map(|route| format!("{}:{}", route.host(), route.port())).unwrap_or_default()
    }

    /// Whether a word that its site may have forged says nothing of the gateway: it serves others, or nobody kept count yet.
    fn stands_alone(&mut self, now: Time, by: &Receipt) -> bool {
        let (exit, origin) = by.at;
        let known = self.exits.get(exit).is_some_and(|record| record.parents[0].is_some());
        let served = self.gateway(exit).and_then(|ix| self.parents.get(ix)).map(|parent| parent.served);
        !known || served.is_some_and(|served| served.another(now, origin))
    }

    /// What is overloaded is left alone, and nothing beside it: the pair alone, where its site may have said so and others are served.
    pub(super) fn overloaded(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        scope: GatewayScope,
    ) -> bool {
        let hint = evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP));
        let exit = by.at.0;
        let shared = matches!(scope, GatewayScope::Gateway | GatewayScope::Credential | GatewayScope::Place);
        let alone = evidence.hearsay && shared && self.stands_alone(now, by);
        let scope = if alone { GatewayScope::Target } else { scope };
        let parent = match scope {
            GatewayScope::Gateway if evidence.retry_after.is_none() && self.throttle(now, by, true) => {
                return true;
            }
            GatewayScope::Gateway => self.gateway(exit),
            // An account's own limit, or its wish for a place: another account at this gateway has others.
            GatewayScope::Credential | GatewayScope::Place => self.credential(exit),
            GatewayScope::Exit => {
                self.rest_exit(now, by, hint.max(HOLD));
                return true;
            }
            GatewayScope::Target => {
                self.rest_pair(now, by, hint.max(THROTTLED));
                return true;
            }
        };
        self.hold(now, by, parent, hint, (HOLD, HOLD_MOST));
        true
    }

    /// To connect is the gateway's part: that it fails says nothing about the session that was asked for.
    pub(super) fn unreachable(&mut self, now: Time, by: &Receipt, cost: &mut Cost) -> bool {
        let Some(record) = self.exits.get(by.at.0) else { return false };
        let ([Some(ix), _], source) = (record.parents, record.source) else { return false };
        if source == Source::Listed && self.parents.get(ix).is_none_or(|parent| parent.members.len() == 1) {
            // Alone behind its address: whether it is dead is its own affair.
            return false;
        }
        if mem::replace(&mut cost.shared, true) {
            return true;
        }
        let enough = self.with_parent(ix, |parent| {
            if parent.gate.is_stale(by.sent) {
                return false;
            }
            parent.faults += 1;
            parent.faults >= FAULTS || !parent.gate.is_open()
        });
        if enough == Some(true) {
            self.hold(now, by, Some(ix), Duration::ZERO, (UNREACHABLE, UNREACHABLE_MOST));
        }
        true
    }

    fn hold(
        &mut self,
        now: Time,
        by: &Receipt,
        parent: Option<ParentIx>,
        hint: Duration,
        (first, most): (Duration, Duration),
    ) {
        let Some(ix) = parent else { return };
        let seed = self.seed;
        let held = self.with_parent(ix, |parent| {
            if parent.gate.is_stale(by.sent) {
                parent.gate.lengthen(now + hint);
                return None;
            }
            let rest = first.saturating_mul(1 << parent.doublings.min(10)).min(most);
            if parent.is_stopped() {
                // A person's affair.
                return None;
            }
            parent.doublings += 1;
            parent.faults = 0;
            parent.held = true;
            let draw = draw(seed, Stream::Cooldown, u64::from(ix.0), u64::from(parent.gate.shuts()));
            let rest = rest.max(hint).mul_f64(1.0 + unit(draw) / 4.0);
            parent.gate.shut(now, now + rest);
            Some(rest)
        });
        if let Some(rest) = held.flatten() {
            self.events.push(now, Event::GatewayHeld { exit: by.exit, rest: Some(rest) });
        }
    }

    pub(super) fn gateway_works(&mut self, now: Time, by: &Receipt) {
        let Some([Some(ix), _]) = self.exits.get(by.at.0).map(|record| record.parents) else { return };
        let Some(parent) = self.parents.0.get_mut(ix.index()) else { return };
        parent.served.note(now, by.at.1);
        if parent.flow.is_watched() {
            self.throttle(now, by, false);
        }
        let Some(parent) = self.parents.get(ix) else { return };
        if parent.gate.is_open() && parent.faults == 0 && parent.doublings == 0 {
            return;
        }
        self.with_parent(ix, |parent| {
            parent.faults = 0;
            if !parent.gate.is_stale(by.sent) {
                parent.gate.pass(by.id, 1);
                parent.doublings = 0;
            }
        });
    }
}
