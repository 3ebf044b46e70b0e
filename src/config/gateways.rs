//! `[pool.gateway]`: a provider's gateway, by name or by template.

use super::places::child;
use super::reader::Reader;
use super::request::set;
use super::value::{Span, Text};
use crate::error::ConfigError;
use crate::exit::{Gateway, Via};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct GatewayTable {
    provider: Option<String>,
    template: Option<Text>,
    rotating: Option<Text>,
    user: Option<Text>,
    password: Option<Text>,
    fields: Option<BTreeMap<String, Text>>,
    via: Option<String>,
    country: Option<String>,
    state: Option<String>,
    city: Option<String>,
    ttl: Option<Span>,
    lifetime: Option<Span>,
    idle: Option<Span>,
    sessions: Option<NonZeroU32>,
    token_length: Option<u8>,
    digits: Option<bool>,
}

/// How a provider of the catalogue is spoken to.
const VIA: &[(&str, Via)] =
    &[("http", Via::Http), ("https", Via::Https), ("socks5h", Via::Socks5h), ("socks5", Via::Socks5)];
/// What a field's name has in it whose value is a secret.
const SECRET: [&str; 6] = ["pass", "pw", "key", "secret", "token", "auth"];

impl GatewayTable {
    pub(super) fn read(&self, reader: &mut Reader<'_>, path: &str) -> Result<Gateway, ConfigError> {
        let mut gateway = self.source(reader, path)?;
        for (name, value) in [("user", &self.user), ("pass", &self.password)] {
            let path = child(path, if name == "pass" { "password" } else { name });
            if let Some(value) = value {
                gateway = gateway.field(name, &reader.secret(&path, value)?);
                if name == "pass" && matches!(value, Text::Literal(_)) {
                    reader.warn_literal(&path);
                }
            }
        }
        for (name, value) in self.fields.iter().flatten() {
            let path = child(&child(path, "fields"), name);
            gateway = gateway.field(name, &reader.secret(&path, value)?);
            if matches!(value, Text::Literal(_)) && SECRET.iter().any(|part| name.contains(part)) {
                reader.warn_literal(&path);
            }
        }
        gateway = set(gateway, reader.word(&child(path, "via"), self.via.as_deref(), VIA)?, Gateway::via);
        gateway = set(gateway, self.country.as_deref(), Gateway::country);
        gateway = set(gateway, self.state.as_deref(), Gateway::state);
        gateway = set(gateway, self.city.as_deref(), Gateway::city);
        gateway = set(gateway, self.ttl.map(|Span(ttl)| ttl), Gateway::ttl);
        gateway = set(gateway, self.lifetime.map(|Span(lifetime)| lifetime), Gateway::lifetime);
        gateway = set(gateway, self.idle.map(|Span(idle)| idle), Gateway::idle);
        gateway = set(gateway, self.sessions, Gateway::sessions);
        if let Some(length) = self.token_length {
            let path = child(path, "token_length");
            gateway = gateway.token_length(length).map_err(|error| reader.placed(&path, error))?;
        }
        if self.digits == Some(true) {
            gateway = gateway.digits();
        }
        gateway.check().map_err(|error| reader.placed_in(path, error))?;
        Ok(gateway)
    }

    /// What may be shown of it, in the words of the file: no value of a template but the country.
    pub(super) fn told(&self, gateway: &Gateway) -> String {
        let name = self.provider.as_ref().map_or(String::new(), |name| format!("{name} at "));
        let mut told = vec![match gateway.is_rotating() {
            true => "rotating".to_owned(),
            false => format!("{} sessions", gateway.slots()),
        }];
        told.extend(self.country.as_ref().map(|code| format!("country {}", code.to_ascii_lowercase())));
        for (key, span) in [("ttl", self.ttl), ("lifetime", self.lifetime), ("idle", self.idle)] {
            told.extend(span.map(|Span(span)| format!("{key} {}", humantime::format_duration(span))));
        }
        format!("gateway {name}{}:{} ({})", gateway.host(), gateway.port(), told.join(", "))
    }

    fn source(&self, reader: &mut Reader<'_>, path: &str) -> Result<Gateway, ConfigError> {
        let (key, text, parse): (_, _, fn(&str) -> _) = match (&self.provider, &self.template, &self.rotating)
        {
            (Some(name), None, None) => {
                let path = child(path, "provider");
                return Gateway::provider(name).map_err(|error| reader.placed(&path, error));
            }
            (None, Some(text), None) => ("template", text, Gateway::parse),
            (None, None, Some(text)) => ("rotating", text, Gateway::rotating),
            (None, None, None) => {
                let cure = "name one of `provider`, `template` and `rotating`";
                return Err(reader.wrong(path, "does not say which gateway it is", cure));
            }
            (provider, template, rotating) => {
                let given = [
                    ("`provider`", provider.is_some()),
                    ("`template`", template.is_some()),
                    ("`rotating`", rotating.is_some()),
                ];
                let names: Vec<_> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
                let what = format!("names {} gateways: {}", names.len(), names.join(" and "));
                return Err(reader.wrong(
                    path,
                    what,
                    "keep one of them; another gateway is another [[pool.gateway]]",
                ));
            }
        };
        let path = child(path, key);
        let spec = reader.secret(&path, text)?;
        let gateway = parse(&spec).map_err(|error| reader.placed(&path, error))?;
        if matches!(text, Text::Literal(_)) && has_password(&spec) {
            reader.warn_literal(&path);
        }
        Ok(gateway)
    }
}

/// Whether a template's login holds a password of its own, not only placeholders.
fn has_password(template: &str) -> bool {
    let login = template.rsplit_once('@').map_or("", |(login, _)| login);
    let password = login.rsplit_once(':').map_or("", |(_, password)| password);
    let outside = password.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after));
    let mut letters = outside.flat_map(str::chars).filter(|letter| letter.is_alphanumeric());
    letters.next().is_some()
}
