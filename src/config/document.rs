//! The document: which keys there are. What is not said stays as its type has it, so no default stands here.

use super::pools::PoolTable;
use super::reader::Reader;
use super::request::{RequestTable, set};
use super::sites::SiteTable;
use super::value::Span;
use super::wire::ClientTable;
use crate::error::ConfigError;
use crate::request::Classes;
use crate::scheduler::Bounds;
use crate::verdict::RetryRules;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Document {
    pub(super) pool: Vec<PoolTable>,
    pub(super) site: Vec<SiteTable>,
    pub(super) retry: RetryTable,
    pub(super) request: RequestTable,
    pub(super) classify: ClassifyTable,
    pub(super) client: Option<ClientTable>,
    pub(super) classes: BTreeMap<String, u32>,
    pub(super) bounds: BoundsTable,
    pub(super) member: Option<MemberTable>,
    pub(super) seed: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct RetryTable {
    preset: Option<String>,
    max_attempts: Option<u32>,
    retries_per_success: Option<f64>,
    pub(super) replay_cap: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct ClassifyTable {
    attempt_timeout: Option<Span>,
    body_idle_timeout: Option<Span>,
    collect: Option<usize>,
    pages: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct BoundsTable {
    leases: Option<u32>,
    waiters: Option<u32>,
    origins: Option<u32>,
    pairs: Option<u32>,
    bindings: Option<u32>,
    minted: Option<u32>,
    events: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct MemberTable {
    index: u32,
    of: u32,
}

/// What is said of attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempt: Option<Duration>,
    pub(super) body_idle: Option<Duration>,
    pub(super) collect: Option<usize>,
    pub(super) pages: Option<bool>,
}

impl RetryTable {
    pub(super) fn rules(&self, reader: &Reader<'_>) -> Result<RetryRules, ConfigError> {
        let presets: &[(&str, fn() -> RetryRules)] = &[
            ("default", RetryRules::default),
            ("article", RetryRules::article),
            ("negotiated", RetryRules::negotiated),
        ];
        let preset = reader.word("retry.preset", self.preset.as_deref(), presets)?;
        let rules = preset.map_or_else(RetryRules::default, |preset| preset());
        let rules = set(rules, self.max_attempts, RetryRules::max_attempts);
        let rules = set(rules, self.retries_per_success, RetryRules::retries_per_success);
        rules.check().map_err(|error| {
            let path = format!("retry.{}", error.field());
            reader.placed(&path, error)
        })?;
        Ok(rules)
    }
}

impl BoundsTable {
    pub(super) fn read(&self, reader: &Reader<'_>) -> Result<Bounds, ConfigError> {
        let bounds = set(Bounds::default(), self.leases, Bounds::leases);
        let bounds = set(bounds, self.waiters, Bounds::waiters);
        let bounds = set(bounds, self.origins, Bounds::origins);
        let bounds = set(bounds, self.pairs, Bounds::pairs);
        let bounds = set(bounds, self.bindings, Bounds::bindings);
        let bounds = set(bounds, self.minted, Bounds::minted);
        let bounds = set(bounds, self.events, Bounds::events);
        bounds.check().map_err(|error| {
            let path = error.field().to_owned();
            reader.placed(&path, error)
        })?;
        Ok(bounds)
    }
}

/// `[classes]`: names and their weights.
pub(super) fn classes(reader: &Reader<'_>, table: &BTreeMap<String, u32>) -> Result<Classes, ConfigError> {
    let mut classes = Classes::default();
    for (name, weight) in table {
        classes.add(name.as_str().into(), *weight);
    }
    classes.check().map_err(|error| reader.placed("classes", error))?;
    Ok(classes)
}

impl ClassifyTable {
    pub(super) fn read(&self, reader: &Reader<'_>) -> Result<Limits, ConfigError> {
        let span = |path: &str, span: Option<Span>| match span {
            Some(Span(Duration::ZERO)) => Err(reader.wrong(path, "is zero", "give it some seconds")),
            Some(Span(span)) => Ok(Some(span)),
            None => Ok(None),
        };
        if self.collect == Some(0) {
            let cure =
                "give the most bytes that a body may have, or leave it out to have bodies as they come";
            return Err(reader.wrong("classify.collect", "is 0", cure));
        }
        Ok(Limits {
            attempt: span("classify.attempt_timeout", self.attempt_timeout)?,
            body_idle: span("classify.body_idle_timeout", self.body_idle_timeout)?,
            collect: self.collect,
            pages: self.pages,
        })
    }
}

impl MemberTable {
    /// Which it is, and of how many.
    pub(super) fn read(&self, reader: &Reader<'_>) -> Result<(u32, u32), ConfigError> {
        if self.index >= self.of {
            return Err(reader.wrong("member.index", "is not below `of`", "count from 0"));
        }
        Ok((self.index, self.of))
    }
}
