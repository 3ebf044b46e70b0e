//! `[[site]]`: what holds at one origin alone.

use super::complaint::suggestion;
use super::places::child;
use super::reader::Reader;
use super::value::Span;
use crate::error::ConfigError;
use crate::exit::Pool;
use crate::outcome::{BlockedBy, Outcome};
use crate::site::Site;
use http::StatusCode;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct SiteTable {
    origin: String,
    pools: Option<Vec<String>>,
    escalate_at: Option<f64>,
    quiet: Option<Span>,
    api: Option<bool>,
    statuses: Option<BTreeMap<String, String>>,
}

/// What a status may mean, but for an origin's error, which keeps its status.
const MEANINGS: &[(&str, Outcome)] = &[
    ("ok", Outcome::Ok),
    ("rate_limited", Outcome::RateLimited { retry_after: None }),
    ("blocked", Outcome::Blocked { by: BlockedBy::Unknown }),
    ("blocked_exit", Outcome::Blocked { by: BlockedBy::Exit }),
    ("blocked_country", Outcome::Blocked { by: BlockedBy::Country }),
    ("blocked_pattern", Outcome::Blocked { by: BlockedBy::Pattern }),
    ("target_denied", Outcome::TargetDenied),
    ("target_unreachable", Outcome::TargetUnreachable),
    ("target_failed", Outcome::TargetFailed),
    ("origin_error", Outcome::OriginError { status: StatusCode::INTERNAL_SERVER_ERROR }),
    ("fatal", Outcome::Fatal),
];

/// How the file writes what a status means.
pub(super) fn word(outcome: &Outcome) -> &'static str {
    let is_it = |known: &Outcome| match known {
        Outcome::OriginError { .. } => matches!(outcome, Outcome::OriginError { .. }),
        known => known == outcome,
    };
    MEANINGS.iter().find(|(_, known)| is_it(known)).map_or("another", |(word, _)| word)
}

pub(super) fn read(
    reader: &Reader<'_>,
    tables: &[SiteTable],
    pools: &[Pool],
) -> Result<Vec<(String, Site)>, ConfigError> {
    let mut sites: Vec<(String, Site)> = Vec::with_capacity(tables.len());
    for (at, table) in tables.iter().enumerate() {
        let path = format!("site[{at}]");
        let site = table.read(reader, &path, pools)?;
        if table.origin.is_empty() || table.origin.contains('/') {
            let cure = "write a host, like `shop.example`, `*.shop.example` or `*`";
            return Err(reader.wrong(&child(&path, "origin"), "is no name of a site", cure));
        }
        let origin = table.origin.to_ascii_lowercase();
        if let Some(before) = sites.iter().position(|(known, _)| *known == origin) {
            let what = format!("is that of site[{before}]");
            return Err(reader.wrong(&child(&path, "origin"), what, "say it all in one place"));
        }
        sites.push((origin, site));
    }
    Ok(sites)
}

impl SiteTable {
    fn read(&self, reader: &Reader<'_>, path: &str, pools: &[Pool]) -> Result<Site, ConfigError> {
        let mut site = if self.api == Some(true) { Site::api() } else { Site::new() };
        if let Some(order) = &self.pools {
            let known: Vec<_> = pools.iter().map(Pool::name).collect();
            for (at, name) in order.iter().enumerate() {
                if !known.contains(&name.as_str()) {
                    let path = format!("{path}.pools[{at}]");
                    return Err(reader.wrong(&path, "names no pool of this file", suggestion(name, &known)));
                }
            }
            site = site.pools(order.iter().map(String::as_str));
        }
        if let Some(share) = self.escalate_at {
            site = site.escalate_at(share);
        }
        if let Some(Span(quiet)) = self.quiet {
            site = site.quiet(quiet);
        }
        for (status, meaning) in self.statuses.iter().flatten() {
            let path = child(&child(path, "statuses"), status);
            let (status, outcome) = meant(reader, &path, status, meaning)?;
            site = site.status(status, outcome);
        }
        site.check(&self.origin).map_err(|error| reader.placed_in(path, error))?;
        Ok(site)
    }
}

fn meant(
    reader: &Reader<'_>,
    path: &str,
    status: &str,
    meaning: &str,
) -> Result<(u16, Outcome), ConfigError> {
    let code = StatusCode::from_bytes(status.as_bytes());
    let code =
        code.map_err(|_| reader.wrong(path, "is no status", "write three digits in quotes, like \"420\""))?;
    let outcome = match reader.word(path, Some(meaning), MEANINGS)? {
        Some(Outcome::OriginError { .. }) => Outcome::OriginError { status: code },
        other => other.unwrap_or(Outcome::Ok),
    };
    Ok((code.as_u16(), outcome))
}
