//! `[request]`: what requests ask for that say nothing else.

use super::complaint::suggestion;
use super::reader::Reader;
use super::value::Span;
use crate::error::ConfigError;
use crate::exit::Pool;
use crate::request::{Affinity, Classes, Freshness, Granularity, LeaseRequest, OnLoss, Scope};
use serde::Deserialize;
use std::num::NonZeroU32;
use std::time::Duration;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct RequestTable {
    class: Option<String>,
    granularity: Option<String>,
    window: Option<Span>,
    max_uses: Option<NonZeroU32>,
    affinity: Option<String>,
    scope: Option<String>,
    on_loss: Option<String>,
    exclusive: Option<bool>,
    freshness: Option<String>,
    deadline: Option<Span>,
    patience: Option<Span>,
    attempts: Option<NonZeroU32>,
    repeatable: Option<bool>,
    pools: Option<Vec<String>>,
    country: Option<String>,
    kind: Option<String>,
}

/// How long an exit is held, by word. A window has the length that the type gives it.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    PerRequest,
    Windowed,
    Static,
}

const GRANULARITY: &[(&str, Held)] =
    &[("per_request", Held::PerRequest), ("windowed", Held::Windowed), ("static", Held::Static)];
/// A worker has a name, which the program says: `LeaseRequest::worker`.
const AFFINITY: &[(&str, Affinity)] =
    &[("key", Affinity::Key), ("origin", Affinity::Origin), ("round_robin", Affinity::RoundRobin)];
const SCOPE: &[(&str, Scope)] = &[("per_origin", Scope::PerOrigin), ("all_origins", Scope::AllOrigins)];
const ON_LOSS: &[(&str, OnLoss)] = &[("move", OnLoss::Move), ("wait", OnLoss::Wait), ("fail", OnLoss::Fail)];
const FRESHNESS: &[(&str, Freshness)] =
    &[("keep", Freshness::Keep), ("per_lease", Freshness::PerLease), ("fresh", Freshness::Fresh)];

impl RequestTable {
    pub(super) fn read(
        &self,
        reader: &Reader<'_>,
        pools: &[Pool],
        classes: &Classes,
    ) -> Result<LeaseRequest, ConfigError> {
        let mut ask = self.held(reader)?;
        if let Some(class) = &self.class {
            if classes.find(Some(&class.as_str().into())).is_none() && class != "default" {
                let known: Vec<_> = classes.iter().map(|(name, _)| name.as_str()).collect();
                let cure = suggestion(class, &known);
                return Err(reader.wrong("request.class", "is not among [classes]", cure));
            }
            ask = ask.class(class.as_str());
        }
        let affinity = reader.word("request.affinity", self.affinity.as_deref(), AFFINITY)?;
        let scope = reader.word("request.scope", self.scope.as_deref(), SCOPE)?;
        let on_loss = reader.word("request.on_loss", self.on_loss.as_deref(), ON_LOSS)?;
        let freshness = reader.word("request.freshness", self.freshness.as_deref(), FRESHNESS)?;
        ask = set(ask, affinity, LeaseRequest::affinity);
        ask = set(ask, scope, LeaseRequest::scope);
        ask = set(ask, on_loss, LeaseRequest::on_loss);
        ask = set(ask, freshness, LeaseRequest::freshness);
        if self.exclusive == Some(true) {
            ask = ask.exclusive();
        }
        let deadline = self.deadline.map(|Span(deadline)| deadline);
        if deadline == Some(Duration::ZERO) {
            return Err(reader.wrong("request.deadline", "is zero", "give it some seconds"));
        }
        ask = set(ask, deadline, LeaseRequest::deadline);
        ask = set(ask, self.patience.map(|Span(patience)| patience), LeaseRequest::patience);
        ask = set(ask, self.attempts, LeaseRequest::attempts);
        ask = set(ask, self.repeatable, LeaseRequest::repeatable);
        ask = self.filtered(ask, reader, pools)?;
        if let Some(what) = ask.contradiction() {
            return Err(reader.wrong("request", "contradicts itself", what));
        }
        Ok(ask)
    }

    fn held(&self, reader: &Reader<'_>) -> Result<LeaseRequest, ConfigError> {
        let said = reader.word("request.granularity", self.granularity.as_deref(), GRANULARITY)?;
        let windowed = self.window.is_some() || self.max_uses.is_some();
        let mut ask = LeaseRequest::new("");
        match said {
            Some(Held::PerRequest | Held::Static) if windowed => {
                let cure = "leave `window` and `max_uses` out, or make it `windowed`";
                return Err(reader.wrong("request.granularity", "has no window", cure));
            }
            Some(Held::PerRequest) => ask = ask.granularity(Granularity::PerRequest),
            Some(Held::Static) => ask = ask.granularity(Granularity::Static),
            Some(Held::Windowed) | None => {}
        }
        if let Some(Span(window)) = self.window {
            if window < Duration::from_millis(1) {
                let cure = "give it a millisecond at least, or say granularity = \"per_request\"";
                return Err(reader.wrong("request.window", "is shorter than 1 ms", cure));
            }
            ask = ask.windowed(window);
        }
        Ok(set(ask, self.max_uses, LeaseRequest::max_uses))
    }

    fn filtered(
        &self,
        mut ask: LeaseRequest,
        reader: &Reader<'_>,
        pools: &[Pool],
    ) -> Result<LeaseRequest, ConfigError> {
        let known: Vec<_> = pools.iter().map(Pool::name).collect();
        for (at, name) in self.pools.iter().flatten().enumerate() {
            if !known.contains(&name.as_str()) {
                let path = format!("request.pools[{at}]");
                return Err(reader.wrong(&path, "names no pool of this file", suggestion(name, &known)));
            }
            ask = ask.pool(name);
        }
        if let Some(country) = &self.country {
            if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                return Err(reader.wrong("request.country", "is not two letters", "write it like `de`"));
            }
            ask = ask.country(country);
        }
        if let Some(kind) = &self.kind {
            let known: Vec<_> = pools.iter().filter_map(|pool| pool.terms.kind.as_deref()).collect();
            if !known.contains(&kind.as_str()) {
                return Err(reader.wrong("request.kind", "is that of no pool", suggestion(kind, &known)));
            }
            ask = ask.kind(kind);
        }
        Ok(ask)
    }
}

/// Sets what was said.
pub(super) fn set<T, V>(on: T, value: Option<V>, with: impl FnOnce(T, V) -> T) -> T {
    match value {
        Some(value) => with(on, value),
        None => on,
    }
}
