//! What a configuration says, as a table to read before it is used.

use super::Config;
use crate::exit::Pool;
use std::fmt;

/// Pools with their exits and tags, sites with their order. No login is in it.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pool in &self.pools {
            writeln!(f, "pool {:<16} {}", pool.name(), terms(pool))?;
        }
        for (origin, site) in &self.sites {
            let order: Vec<_> = site.pools.iter().map(|name| &**name).collect();
            let order = if order.is_empty() { "any pool".into() } else { order.join(", then ") };
            let api = if site.is_api() { ", an API" } else { "" };
            writeln!(f, "site {origin:<16} {order}{api}")?;
        }
        if self.pools.is_empty() {
            writeln!(f, "no pool")?;
        }
        Ok(())
    }
}

fn terms(pool: &Pool) -> String {
    let mut parts = Vec::new();
    match pool.exits.len() {
        0 => {}
        1 => parts.push("1 exit".to_owned()),
        exits => parts.push(format!("{exits} exits")),
    }
    for gateway in &pool.gateways {
        let slots = match gateway.is_rotating() {
            true => "rotating".into(),
            false => format!("{} sessions", gateway.slots()),
        };
        parts.push(format!("gateway {}:{} ({slots})", gateway.host(), gateway.port()));
    }
    let terms = &pool.terms;
    let tags = [("kind", &terms.kind), ("country", &terms.country)];
    parts.extend(tags.iter().filter_map(|(name, tag)| Some(format!("{name} {}", tag.as_deref()?))));
    parts.extend(terms.vendor.map(|vendor| format!("vendor {vendor:?}")));
    if terms.weight != 1 {
        parts.push(format!("weight {}", terms.weight));
    }
    parts.extend(terms.price.map(|price| format!("{price} per GB")));
    parts.extend(terms.in_flight.map(|most| format!("at most {most} in flight per exit")));
    if !terms.interval.is_zero() {
        parts.push(format!("{} between leases", humantime::format_duration(terms.interval)));
    }
    parts.join(", ")
}
