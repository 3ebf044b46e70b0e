//! Gateways: how many tunnels they open at once, when they fail, and whose login they take.

use super::{Answer, Truth};
use crate::lab::sim::luck::{For, Luck};
use crate::outcome::{AuthReason, Evidence, GatewayScope, Outcome, Phase, Seen};
use crate::request::Time;
use std::time::Duration;

/// Another refusal comes back after this time: the gateway is near, the exit behind it is not.
const REFUSES: Duration = Duration::from_millis(100);

/// How the login of a gateway's exits ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) enum Login {
    /// Never.
    Lasts,
    /// It is refused from then on; it has another password, and the fleet as well, from then on ([`Duration::MAX`]: never).
    Dies(Duration, Duration),
    /// Its traffic is used up after so many tunnels; there is more so long after that.
    Quota(u64, Duration),
}

/// What a gateway is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct GatewayRules {
    /// Tunnels that it opens at once. Of x that are asked for it refuses each with the chance (x - most) / x.
    pub(in crate::lab::sim) most: Option<u32>,
    /// It takes no connections.
    pub(in crate::lab::sim) down: Option<(Duration, Duration)>,
    /// From then to then it refuses such a share, however few they are.
    pub(in crate::lab::sim) brown: Option<(Duration, Duration, f64)>,
    pub(in crate::lab::sim) login: Login,
    /// The share of logins that it refuses though they are right.
    pub(in crate::lab::sim) strays: f64,
}

impl GatewayRules {
    pub(in crate::lab::sim) const GOOD: Self =
        Self { most: None, down: None, brown: None, login: Login::Lasts, strays: 0.0 };

    /// When the operator has another password for it.
    pub(in crate::lab::sim) const fn renewed_at(&self) -> Option<Duration> {
        match self.login {
            Login::Dies(_, Duration::MAX) | Login::Lasts | Login::Quota(..) => None,
            Login::Dies(_, at) => Some(at),
        }
    }
}

/// What a gateway has refused.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::lab::sim) struct Refusals {
    pub(in crate::lab::sim) overloaded: u64,
    pub(in crate::lab::sim) unreached: u64,
    /// Logins that were right.
    pub(in crate::lab::sim) strays: u64,
    /// Logins that were not any more.
    pub(in crate::lab::sim) logins: u64,
    /// Of these, the ones that were sent when two such refusals were known.
    pub(in crate::lab::sim) logins_after: u64,
}

pub(super) struct Gateway {
    rules: GatewayRules,
    /// Tunnels that it is about to open, or to refuse for having too much to do.
    opening: u32,
    /// Tunnels that were asked for.
    asked: u64,
    opened: u64,
    used_up: Option<Time>,
    /// When the second refusal of a login that has ended was known.
    told: Option<Time>,
    pub(super) refusals: Refusals,
}

impl Gateway {
    pub(super) fn new(rules: GatewayRules) -> Self {
        let refusals = Refusals::default();
        Self { rules, opening: 0, asked: 0, opened: 0, used_up: None, told: None, refusals }
    }

    /// A tunnel is asked for, which takes so long. That it is [over](Self::is_over) is to be told, if it is open then or there was
    /// too much to do.
    pub(super) fn ask(
        &mut self,
        now: Time,
        luck: Luck,
        number: u64,
        takes: Duration,
    ) -> Option<(Time, Answer)> {
        self.asked += 1;
        let mut after = REFUSES;
        let (keys, since) = ([number, self.asked], now.since(Time::ZERO));
        let (outcome, truth) = if self.rules.down.is_some_and(|(from, to)| from <= since && since < to) {
            self.refusals.unreached += 1;
            (Outcome::ProxyError { phase: Phase::ExitTcp }, Truth::Unreached)
        } else if let Some(reason) = self.login(now) {
            self.refusals.logins += 1;
            self.refusals.logins_after += u64::from(self.told.is_some_and(|told| told < now));
            if self.refusals.logins == 2 {
                self.told = Some(now + REFUSES);
            }
            (Outcome::AuthError { reason }, Truth::Login)
        } else if luck.chance(self.rules.strays, For::Stray, &keys) {
            self.refusals.strays += 1;
            (Outcome::AuthError { reason: AuthReason::Rejected }, Truth::Login)
        } else if luck.chance(self.load(since), For::Gateway, &keys) {
            // As long as a tunnel takes: so it opens as many as it bears, however many are asked for.
            self.opening += 1;
            after = takes;
            self.refusals.overloaded += 1;
            let scope = GatewayScope::Gateway;
            (Outcome::GatewayOverloaded { retry_after: None, scope }, Truth::Overloaded)
        } else {
            self.opening += 1;
            self.opened += 1;
            if matches!(self.rules.login, Login::Quota(most, _) if self.opened == most) {
                self.used_up = Some(now);
            }
            return None;
        };
        Some((now + after, Answer { evidence: Evidence::of(outcome).seen(Seen::Never), truth }))
    }

    /// Whether it can be known that it opens no tunnel now.
    pub(super) fn is_shut(&self, now: Time) -> bool {
        let since = now.since(Time::ZERO);
        self.login(now).is_some() || self.rules.down.is_some_and(|(from, to)| from <= since && since < to)
    }

    pub(super) const fn is_over(&mut self) {
        self.opening = self.opening.saturating_sub(1);
    }

    /// The chance that one more is too many.
    fn load(&self, since: Duration) -> f64 {
        let brown = self.rules.brown.filter(|(from, to, _)| *from <= since && since < *to);
        let at_once = f64::from(self.opening + 1);
        let over = self.rules.most.map_or(0.0, |most| (at_once - f64::from(most)) / at_once);
        brown.map_or(0.0, |brown| brown.2).max(over)
    }

    /// Why the login is refused, if it is.
    fn login(&self, now: Time) -> Option<AuthReason> {
        let since = now.since(Time::ZERO);
        match self.rules.login {
            Login::Lasts => None,
            Login::Dies(from, to) => (from <= since && since < to).then_some(AuthReason::Rejected),
            Login::Quota(_, rest) => {
                self.used_up.is_some_and(|ended| now < ended + rest).then_some(AuthReason::Quota)
            }
        }
    }
}
