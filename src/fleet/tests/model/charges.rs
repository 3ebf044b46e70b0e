//! What a report costs whom, by the tables of the documents.

use super::heat::Seen as Counted;
use super::reference::{LeaseNo, Pair, State, Told};
use crate::outcome::{AuthReason, Evidence, Outcome, Phase, Seen};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;

/// How bad an outcome is for the heat of a pair.
fn share(charged: bool, outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Ok => Some(0.0),
        Outcome::RateLimited { .. } => Some(1.0),
        Outcome::Blocked { .. } => charged.then_some(1.0),
        Outcome::OriginError { .. } => Some(0.25),
        _ => None,
    }
}

pub(super) fn hint(said: &Evidence) -> u64 {
    said.retry_after.map_or(0, |hint| u64::try_from(hint.wait().as_nanos()).unwrap()).min(HOUR)
}

/// The last usable exit of a list rests an eighth, a second at least.
pub(super) fn paced(rest: f64, last: bool) -> f64 {
    if last { (rest / 8.0).max(1.0) } else { rest }
}

/// That the rest was as long as it should be: from `least` to `most` seconds, but for what an f32 rounds.
pub(super) fn check(what: &str, now: u64, until: u64, least: f64, most: f64) {
    #[allow(clippy::cast_precision_loss, reason = "rests are hours at most")]
    let rest = (until - now) as f64 / 1e9;
    let close = rest >= least * (1.0 - 1e-5) - 1e-6 && rest <= most * (1.0 + 1e-5) + 1e-6;
    assert!(close, "{what}: rests {rest} s and not {least} to {most}");
}

#[allow(clippy::cast_precision_loss, reason = "hints are hours at most")]
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl State {
    pub(super) fn report(&mut self, no: LeaseNo, said: &Evidence, taken: bool, told: &Told) {
        let (mut told, before) = (told.clone(), self.leases[&no].counted);
        // A refusal is not made less by a broken body.
        let broken = matches!(said.outcome, Outcome::Interrupted { .. });
        let counts = !before.is_some_and(|(before, _)| broken && !before.outcome.is_ok());
        assert_eq!(taken, counts, "{no:?} says {said:?} after {before:?}");
        if counts {
            if let Some((before, at)) = before {
                self.take_back(no, &before, at);
            }
            self.leases.get_mut(&no).unwrap().counted = Some((*said, self.now));
            self.charge_pair(no, said, before.is_some_and(|(before, _)| before.outcome.is_ok()), &mut told);
            if !self.charge_shared(no, said, &mut told) {
                self.charge_exit(no, said, &mut told);
            }
        }
        assert_eq!(told, Told::default(), "told without a cause at {}, after {no:?} said {said:?}", self.now);
    }

    fn take_back(&mut self, no: LeaseNo, before: &Evidence, at: u64) {
        let lease = self.leases[&no].clone();
        let now = self.now;
        let site = &mut self.sites[lease.is.origin];
        *site.counts.of(&before.outcome) -= 1;
        let Some(share) = share(lease.is.charged, &before.outcome) else { return };
        let back = Counted { at: now, share, counted: Some(at) };
        site.seen.push(back);
        if let Some(pair) = self.pairs.get_mut(&(lease.is.exit, lease.is.origin)) {
            // Its cell may be younger than the report.
            if pair.seen.first().is_some_and(|first| first.at <= at) {
                pair.seen.push(back);
            }
        }
    }

    /// `again`: the attempt has been good before, and is one unit of evidence.
    fn charge_pair(&mut self, no: LeaseNo, said: &Evidence, again: bool, told: &mut Told) {
        let (now, lease, known) = (self.now, self.leases[&no].clone(), self.is_known(no));
        let (exit, origin) = (lease.is.exit, lease.is.origin);
        let site = &mut self.sites[origin];
        *site.counts.of(&said.outcome) += 1;
        let Some(share) = share(lease.is.charged, &said.outcome) else { return };
        let counted = Counted { at: now, share, counted: None };
        site.seen.push(counted);
        if !known {
            return;
        }
        if exit >= self.layout.listed {
            site.seen_behind.push(counted);
        }
        if matches!(said.outcome, Outcome::RateLimited { .. } | Outcome::Blocked { .. }) {
            return self.refuse(no, said, (counted, again), told);
        }
        let Some(pair) = self.pairs.get_mut(&(exit, origin)) else { return };
        pair.seen.push(counted);
        if said.outcome.is_ok() && !again && pair.succeed(now, no, lease.sent) {
            self.sites[origin].proofs.push((no, false));
        }
    }

    /// A slot has another token after each loss.
    pub(super) fn renew(&mut self, exit: usize) {
        if exit >= self.layout.listed {
            self.exits[exit].tokens += 1;
        }
    }

    /// What the exit shares with others. Says whether that was all.
    fn charge_shared(&mut self, no: LeaseNo, said: &Evidence, told: &mut Told) -> bool {
        if said.login_accepted {
            self.accept(no, told);
        }
        let parent = self.layout.parent(self.leases[&no].is.exit);
        match said.outcome {
            Outcome::AuthError { .. } if said.seen == Seen::Seen => {
                unreachable!("a login is refused before the origin")
            }
            Outcome::AuthError { reason: AuthReason::Capacity } | Outcome::GatewayOverloaded { .. } => {
                self.overload(no, said, told);
                true
            }
            Outcome::AuthError { reason } => {
                self.refuse_login(no, reason, said.hearsay, told);
                true
            }
            Outcome::ProxyError { phase: Phase::ExitDns | Phase::ExitTcp } if !said.blameless => {
                self.cannot_connect(no, told)
            }
            _ => {
                let answered = matches!(said.outcome, Outcome::TargetDenied | Outcome::TargetUnreachable);
                if answered || said.seen == Seen::Seen {
                    let (now, sent) = (self.now, self.leases[&no].sent);
                    let origin = self.leases[&no].is.origin;
                    let address = &mut self.addresses[parent];
                    if address.watched {
                        address.served.insert(origin, now);
                    }
                    address.faults = 0;
                    if !address.gate.is_old(sent) {
                        address.gate.pass(now, no, 1);
                        address.doublings = 0;
                    }
                }
                false
            }
        }
    }

    /// Whether the attempt was charged to what the exit shares before; it is now.
    fn has_cost(&mut self, no: LeaseNo) -> bool {
        std::mem::replace(&mut self.leases.get_mut(&no).unwrap().cost.1, true)
    }

    /// Several exits stand behind one address: to connect is its part.
    fn cannot_connect(&mut self, no: LeaseNo, told: &mut Told) -> bool {
        let lease = &self.leases[&no];
        if lease.is.exit < self.layout.listed {
            return false;
        }
        if self.has_cost(no) {
            return true;
        }
        let lease = &self.leases[&no];
        let address = &mut self.addresses[self.layout.listed];
        if !address.gate.is_old(lease.sent) {
            address.faults += 1;
            if address.faults >= 3 || !address.gate.is_open() {
                self.hold(no, 0, (5.0, 60.0), told);
            }
        }
        true
    }

    /// What its site may have forged rests the pair alone where another origin was served within a minute, or nobody watched.
    fn overload(&mut self, no: LeaseNo, said: &Evidence, told: &mut Told) {
        let (now, at) = (self.now, self.leases[&no].is);
        let address = &mut self.addresses[self.layout.parent(at.exit)];
        let lately = |(origin, when): (&usize, &u64)| *origin != at.origin && now - when <= 60 * SECOND;
        let alone = !std::mem::replace(&mut address.watched, true) || address.served.iter().any(lately);
        if !(said.hearsay && alone) {
            self.hold(no, hint(said), (0.25, 15.0), told);
        } else if self.is_known(no) {
            self.rest_pair(no, seconds(hint(said)).max(1.0), told);
        }
    }

    fn hold(&mut self, no: LeaseNo, hint: u64, (first, most): (f64, f64), told: &mut Told) {
        let (now, lease) = (self.now, &self.leases[&no]);
        let address = &mut self.addresses[self.layout.parent(lease.is.exit)];
        if address.gate.is_old(lease.sent) {
            return address.gate.lengthen(now, now.saturating_add(hint));
        }
        let rest = (first * f64::from(address.doublings.min(10)).exp2()).min(most);
        let least = rest.max(seconds(hint));
        let until = told.held.pop().expect("a gateway that is held is told");
        check("a gateway", now, until, least, least * 1.25);
        address.gate.shut(now, until);
        (address.doublings, address.faults) = (address.doublings + 1, 0);
    }

    fn refuse_login(&mut self, no: LeaseNo, reason: AuthReason, hearsay: bool, told: &mut Told) {
        if self.has_cost(no) {
            return;
        }
        let (now, lease) = (self.now, &self.leases[&no]);
        let login = &mut self.logins[self.layout.parent(lease.is.exit)];
        login.counts = true;
        let old = login.gate.is_old(lease.sent);
        if lease.turn < login.from && login.gate.is_open() && !old {
            login.refused.push((no, now, hearsay));
        }
        if lease.turn < login.from || login.gate.rests(now).is_some() || old && login.gate.is_open() {
            return;
        }
        // One that was accepted within 10 s is doubted when five more were refused than were not, in the order of sending, and
        // stops at eight; else at one, and two. Out of traffic is the provider's last word, where no site may have forged it. What
        // may be forged has it rest, from a second to a minute, unless as many that are not have come since one was accepted.
        let proven = login.accepted.is_some_and(|at| now.saturating_sub(at) <= 10 * SECOND);
        let (for_sure, open) = (reason == AuthReason::Quota && !hearsay, login.gate.is_open());
        let least = if proven { 8 } else { 2 };
        if !(for_sure && open && !proven) {
            login.row.push(lease.turn);
            login.all += 1;
            *(if hearsay { &mut login.hearsay } else { &mut login.sure }) += 1;
            if login.more_refused() == 0 {
                (login.row, login.silent) = (vec![lease.turn], 0);
            }
            login.refused.push((no, now, hearsay));
            if open && (for_sure || !proven || login.more_refused() >= 5) {
                login.enough = least;
                login.gate.doubt(now);
            }
            let all = if proven { usize::MAX } else { login.more_refused_of_all() };
            let across = login.before > 0 && login.before + login.sure >= least;
            if open || old || !for_sure && !across && login.more_refused().min(all) < login.enough {
                return;
            }
        }
        let sure = login.before + login.sure;
        let proven = for_sure || login.hearsay == 0 || sure >= least;
        let works = login.accepted.is_some_and(|at| now.saturating_sub(at) <= 30 * SECOND);
        let doubled =
            |first: u64, most: u64| now.saturating_add((first << login.doublings.min(10)).min(most));
        let until = match (proven, reason) {
            (false, _) if works => now.saturating_add(SECOND),
            (false, _) => doubled(SECOND, 60 * SECOND),
            (true, AuthReason::Quota) => doubled(60 * SECOND, 900 * SECOND),
            (true, _) => u64::MAX,
        };
        login.gate.shut(now, until);
        login.doublings += 1;
        login.forget_row(login.entered + 1);
        login.clean = login.entered;
        (login.enough, login.before) = if proven { (0, 0) } else { (2, sure) };
        login.refused.clear();
        if !proven && login.doublings > 1 {
            return;
        }
        told.stopped = told.stopped.checked_sub(1).expect("a login that stops is told");
    }

    fn accept(&mut self, no: LeaseNo, told: &mut Told) {
        let (now, lease) = (self.now, self.leases[&no].clone());
        let login = &mut self.logins[self.layout.parent(lease.is.exit)];
        // Sent after all that were refused: it clears the login though it was sent before the doubt.
        let counted =
            lease.turn > login.row.iter().copied().max().unwrap_or(0) && login.gate.rests(now).is_none();
        if lease.turn < login.from || login.gate.is_old(lease.sent) && !counted {
            return;
        }
        if !login.gate.is_open() {
            login.gate.pass(now, no, 1);
            login.doublings = 0;
            told.resumed = told.resumed.checked_sub(1).expect("a login that is cleared is told");
        }
        login.accepted = Some(now);
        if login.row.iter().all(|turn| *turn <= lease.turn) {
            login.forget_row(lease.turn);
            login.clean = login.clean.max(lease.turn);
        }
        let all = std::mem::take(&mut login.refused);
        let (strays, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, at, _)| *at <= lease.sent);
        login.refused = later;
        // The login is right: each refusal was half a fault of its exit, unless the site may have forged it.
        for (stray, _, hearsay) in strays {
            if !hearsay && self.is_known(stray) && self.exits[self.leases[&stray].is.exit].gate.is_open() {
                self.fault(stray, 0.5, told);
            }
        }
    }

    fn charge_exit(&mut self, no: LeaseNo, said: &Evidence, told: &mut Told) {
        if said.blameless || !self.is_known(no) {
            return;
        }
        let (now, lease) = (self.now, self.leases[&no].clone());
        // The attempt may have been the first of its nanosecond to come after.
        let worked = |at: u64| now.saturating_sub(at) <= 60 * SECOND + 1;
        let witness = self.sites[lease.is.origin].worked.is_some_and(worked);
        let doubtful = match said.outcome {
            Outcome::ProxyError { phase: Phase::OriginTls } | Outcome::Interrupted { .. } => true,
            Outcome::OriginError { .. } => said.seen != Seen::Seen,
            _ => false,
        };
        let cost = match said.outcome {
            _ if doubtful => 0.5 * f64::from(u8::from(witness)),
            Outcome::ProxyError { .. } => 1.0,
            Outcome::TargetUnreachable => self.unreachable(no, witness, told),
            _ => 0.0,
        };
        if cost > lease.cost.0 {
            self.leases.get_mut(&no).unwrap().cost.0 = cost;
            self.fault(no, cost - lease.cost.0, told);
        } else if doubtful || cost > 0.0 {
            // The attempt has cost as much before.
        } else if said.seen == Seen::Seen {
            let exit = &mut self.exits[lease.is.exit];
            if !exit.gate.is_open() && !exit.gate.is_old(lease.sent) {
                exit.gate.pass(now, no, 1);
                exit.healthy_since = now;
                exit.faults.clear();
            }
        }
    }

    /// The pair rests, and its exit has half a fault, if the target works for others.
    fn unreachable(&mut self, no: LeaseNo, witness: bool, told: &mut Told) -> f64 {
        if !witness {
            return 0.0;
        }
        self.rest_pair(no, 5.0, told);
        0.5
    }

    fn rest_pair(&mut self, no: LeaseNo, rest: f64, told: &mut Told) {
        let (now, lease) = (self.now, self.leases[&no].clone());
        let (exit, origin) = (lease.is.exit, lease.is.origin);
        let last = self.is_last(exit, Some(origin));
        let pair = self.pairs.entry((exit, origin)).or_insert_with(Pair::new);
        let (at, old) = ((lease.is.token, Some(origin)), pair.gate.is_old(lease.sent));
        let found = told.rests.iter().position(|(token, site, _)| (*token, *site) == at);
        let until = found.map(|found| told.rests.remove(found).2);
        if !old {
            let until = until.expect("a pair that rests is told");
            check(
                "a pair that does not get through",
                now,
                until,
                paced(rest, last),
                paced(rest, last) * 1.25,
            );
            pair.gate.shut(now, until);
            (pair.burned, pair.paced) = (false, last);
        }
    }

    fn fault(&mut self, no: LeaseNo, weight: f64, told: &mut Told) {
        let (now, lease) = (self.now, self.leases[&no].clone());
        let last = self.is_last(lease.is.exit, None);
        let exit = &mut self.exits[lease.is.exit];
        if exit.gate.is_old(lease.sent) {
            return;
        }
        exit.faults.push((now, lease.is.origin, weight));
        if exit.gate.is_open() && !is_dead(&exit.faults) {
            return;
        }
        if exit.gate.is_open() {
            let minutes = now.saturating_sub(exit.healthy_since) / (60 * SECOND);
            exit.doublings = exit.doublings.saturating_sub(u32::try_from(minutes).unwrap_or(u32::MAX));
        }
        let rest = (5.0 * f64::from(exit.doublings).exp2()).min(300.0);
        exit.doublings = (exit.doublings + 1).min(10);
        exit.faults.clear();
        let found = told.rests.iter().position(|(id, at, _)| *id == lease.is.token && at.is_none());
        let until = told.rests.remove(found.expect("an exit that dies is told")).2;
        check("a dead exit", now, until, paced(0.9 * rest, last), paced(1.1 * rest, last));
        exit.gate.shut(now, until);
        self.renew(lease.is.exit);
    }
}

/// Three in a row, or two at different origins of which each is within 30 s of the one before.
fn is_dead(faults: &[(u64, usize, f64)]) -> bool {
    let all: f64 = faults.iter().map(|(_, _, weight)| weight).sum();
    let near = (1..faults.len()).rev().take_while(|at| faults[*at].0 - faults[at - 1].0 <= 30 * SECOND);
    let first = near.last().map_or(faults.len() - 1, |at| at - 1);
    let burst = &faults[first..];
    let sum: f64 = burst.iter().map(|(_, _, weight)| weight).sum();
    let apart = burst.iter().any(|(_, origin, _)| *origin != burst[0].1);
    all >= 3.0 || (apart && sum >= 2.0)
}
