//! `[[pool]]`: exits under a name, and on which terms they are used.

use super::gateways::GatewayTable;
use super::places::child;
use super::reader::Reader;
use super::request::set;
use super::value::{Proxies, Span, Tables, Text};
use super::wire::{self, TlsTable};
use crate::error::ConfigError;
use crate::exit::{Exit, ExitId, ExitList, Gateway, Pool, Vendor};
use crate::scheduler::MOST_POOLS;
use serde::Deserialize;
use std::collections::HashMap;
use std::num::NonZeroU32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct PoolTable {
    name: String,
    proxies: Option<Proxies>,
    strict: Option<bool>,
    gateway: Option<Tables<GatewayTable>>,
    proxy_tls: Option<TlsTable>,
    kind: Option<String>,
    country: Option<String>,
    vendor: Option<String>,
    weight: Option<u32>,
    price_per_gb: Option<f64>,
    max_in_flight: Option<NonZeroU32>,
    min_interval: Option<Span>,
}

/// Whose proxies they may be.
const VENDORS: &[(&str, Vendor)] = &[
    ("anyip", Vendor::AnyIp),
    ("apify", Vendor::Apify),
    ("brightdata", Vendor::BrightData),
    ("bytio", Vendor::Bytio),
    ("dataimpulse", Vendor::DataImpulse),
    ("decodo", Vendor::Decodo),
    ("geonode", Vendor::Geonode),
    ("helodata", Vendor::Helodata),
    ("iproyal", Vendor::IpRoyal),
    ("luminati_manager", Vendor::LuminatiManager),
    ("netnut", Vendor::NetNut),
    ("nimble", Vendor::Nimble),
    ("nodemaven", Vendor::NodeMaven),
    ("oxylabs", Vendor::Oxylabs),
    ("oxylabs_datacenter", Vendor::OxylabsDatacenter),
    ("oxylabs_shared", Vendor::OxylabsShared),
    ("proxies_fo", Vendor::ProxiesFo),
    ("scraperapi", Vendor::ScraperApi),
    ("soax", Vendor::Soax),
    ("squid", Vendor::Squid),
    ("thordata", Vendor::Thordata),
    ("3proxy", Vendor::ThreeProxy),
    ("tinyproxy", Vendor::Tinyproxy),
    ("tor", Vendor::Tor),
    ("webshare", Vendor::Webshare),
    ("zyte", Vendor::Zyte),
];

pub(super) fn read(reader: &mut Reader<'_>, tables: &[PoolTable]) -> Result<Vec<Pool>, ConfigError> {
    if tables.len() > MOST_POOLS {
        let cure = "name at most 63: a pool may have several gateways";
        return Err(reader.wrong(&format!("pool[{MOST_POOLS}]"), "is one too many", cure));
    }
    let mut pools: Vec<Pool> = Vec::with_capacity(tables.len());
    // An exit of two pools would have two prices.
    let mut exit_in: HashMap<ExitId, usize> = HashMap::new();
    let mut gateway_in: HashMap<u64, usize> = HashMap::new();
    for (at, table) in tables.iter().enumerate() {
        let path = format!("pool[{at}]");
        if let Some(before) = pools.iter().position(|pool| pool.name() == table.name) {
            let what = format!("is that of pool[{before}]");
            return Err(reader.wrong(&child(&path, "name"), what, "give each pool a name of its own"));
        }
        let pool = table.read(reader, &path)?;
        let twice = |before: usize, what: &str| {
            let what = format!("hold {what} that pool `{}` holds too", pools[before].name());
            (what, "keep it in one of the two")
        };
        for exit in &pool.exits {
            if let Some(before) = exit_in.insert(exit.id(), at) {
                let (what, cure) = twice(before, &format!("exit {}", exit.id()));
                return Err(reader.wrong(&child(&path, "proxies"), what, cure));
            }
        }
        for gateway in &pool.gateways {
            if let Some(before) = gateway_in.insert(gateway.id(), at) {
                let what = match before == at {
                    true => ("holds one gateway twice".into(), "keep one of the two"),
                    false => twice(before, "a gateway"),
                };
                return Err(reader.wrong(&child(&path, "gateway"), what.0, what.1));
            }
        }
        pools.push(pool);
    }
    Ok(pools)
}

impl PoolTable {
    /// What may be shown of its gateways, which the pool holds in this order.
    pub(super) fn told(&self, gateways: &[Gateway]) -> Vec<String> {
        let tables = match &self.gateway {
            None => &[][..],
            Some(Tables::One(table)) => std::slice::from_ref(table),
            Some(Tables::Many(tables)) => tables,
        };
        tables.iter().zip(gateways).map(|(table, gateway)| table.told(gateway)).collect()
    }

    fn read(&self, reader: &mut Reader<'_>, path: &str) -> Result<Pool, ConfigError> {
        let tls = wire::proxy_tls(reader, &child(path, "proxy_tls"), self.proxy_tls.as_ref())?;
        let exits = self.exits(reader, &child(path, "proxies"))?;
        #[cfg(feature = "client")]
        let exits = set(exits, tls.as_ref(), ExitList::proxy_tls);
        let mut pool = Pool::new(&self.name, exits);
        for gateway in self.gateways(reader, &child(path, "gateway"))? {
            #[cfg(feature = "client")]
            let gateway = set(gateway, tls.as_ref(), Gateway::proxy_tls);
            pool = pool.and(gateway);
        }
        #[cfg(not(feature = "client"))]
        let wire::NoTls = tls;
        pool = set(pool, self.kind.as_deref(), Pool::kind);
        pool = set(pool, self.country.as_deref(), Pool::country);
        pool = set(pool, reader.word(&child(path, "vendor"), self.vendor.as_deref(), VENDORS)?, Pool::vendor);
        pool = set(pool, self.weight, Pool::weight);
        pool = set(pool, self.price_per_gb, Pool::price);
        pool = set(pool, self.max_in_flight, Pool::in_flight);
        pool = set(pool, self.min_interval.map(|Span(interval)| interval), Pool::interval);
        pool.check().map_err(|error| reader.placed_in(path, error))?;
        Ok(pool)
    }

    fn exits(&self, reader: &mut Reader<'_>, path: &str) -> Result<ExitList, ConfigError> {
        let list = match &self.proxies {
            None => return Ok(ExitList::default()),
            Some(Proxies::List(specs)) => return listed(reader, path, specs),
            Some(Proxies::Path(file)) => ExitList::from_path(reader.path(file)),
            Some(Proxies::Text(text)) => ExitList::parse(&reader.text(path, text)?),
        };
        let list = list.map_err(|error| reader.placed(path, error))?;
        if self.strict == Some(true) {
            return list.whole().map_err(|error| reader.placed(path, error));
        }
        let skipped: Vec<_> = list.skipped().iter().map(|error| reader.placed(path, error.clone())).collect();
        reader.skipped.extend(skipped);
        Ok(list)
    }

    fn gateways(&self, reader: &mut Reader<'_>, path: &str) -> Result<Vec<Gateway>, ConfigError> {
        match &self.gateway {
            None => Ok(Vec::new()),
            Some(Tables::One(table)) => Ok(vec![table.read(reader, path)?]),
            Some(Tables::Many(tables)) => {
                let read = |(at, table): (usize, &GatewayTable)| table.read(reader, &format!("{path}[{at}]"));
                tables.iter().enumerate().map(read).collect()
            }
        }
    }
}

/// The specs that the file itself lists: all of them, or an error.
fn listed(reader: &mut Reader<'_>, path: &str, specs: &[Text]) -> Result<ExitList, ConfigError> {
    let mut first_at: HashMap<ExitId, usize> = HashMap::with_capacity(specs.len());
    let mut exits = ExitList::default();
    for (at, spec) in specs.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let exit = Exit::parse(&reader.secret(&path, spec)?).map_err(|error| reader.placed(&path, error))?;
        if let Some(before) = first_at.insert(exit.id(), at) {
            return Err(reader.wrong(&path, format!("is the exit of [{before}]"), "keep one of the two"));
        }
        if matches!(spec, Text::Literal(_)) && exit.route().credential().is_some() {
            reader.warn_literal(&path);
        }
        exits.extend([exit]);
    }
    Ok(exits)
}
