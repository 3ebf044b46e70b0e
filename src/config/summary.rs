//! What a configuration says, as a table to read before it is used.

use super::Config;
use super::sites::word;
use crate::exit::Pool;
use crate::site::Site;
use std::fmt;

/// Pools with their exits, gateways, tags, price and limits; sites with their order, and what else is not as by default. No login
/// is in it.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (pool, gateways) in self.pools.iter().zip(&self.told) {
            writeln!(f, "pool {:<16} {}", pool.name(), terms(pool, gateways))?;
        }
        for (origin, site) in &self.sites {
            writeln!(f, "site {origin:<16} {}", rules(site))?;
        }
        if self.pools.is_empty() {
            writeln!(f, "no pool")?;
        }
        Ok(())
    }
}

fn rules(site: &Site) -> String {
    let order: Vec<_> = site.pools.iter().map(|name| &**name).collect();
    let mut parts = vec![if order.is_empty() { "any pool".to_owned() } else { order.join(", then ") }];
    let usual = Site::new();
    if site.escalate_at.to_bits() != usual.escalate_at.to_bits() {
        parts.push(format!("escalate_at {}", site.escalate_at));
    }
    if site.quiet != usual.quiet {
        parts.push(format!("quiet {}", humantime::format_duration(site.quiet)));
    }
    if site.is_api() {
        parts.push("an API".to_owned());
    }
    let meant = (100..=999).filter_map(|status| Some((status, site.outcome_of(status)?)));
    parts.extend(meant.map(|(status, outcome)| format!("{status} is {}", word(&outcome))));
    parts.join(", ")
}

fn terms(pool: &Pool, gateways: &[String]) -> String {
    let mut parts = Vec::new();
    match pool.exits.len() {
        0 => {}
        1 => parts.push("1 exit".to_owned()),
        exits => parts.push(format!("{exits} exits")),
    }
    parts.extend(gateways.iter().cloned());
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
