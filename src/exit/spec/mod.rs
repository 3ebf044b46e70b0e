//! One proxy spec. An own parser, because URI parsers read a raw `/` or `@` in a password as the end of the host, and then
//! dial the wrong one: a guess here sends a password to DNS.

mod address;
mod forms;
mod line;
#[cfg(test)]
mod tests;

pub(super) use line::of_line;

use super::{Credential, Exit, Via, gateway};
use crate::error::ConfigError;
use address::{Address, host_name, ports};
use std::net::IpAddr;

const FORMS: &str = "write host:port, host:port:user:password or scheme://user:password@host:port, the scheme http, https, \
                     socks5h, socks5, socks4a or socks4";

fn bad(what: &'static str, cure: &'static str) -> ConfigError {
    ConfigError::new("proxy spec", what, cure)
}

/// What a spec says: one exit, or one for each port of a range.
pub(super) struct Spec {
    /// The exit at the first port.
    pub(super) first: Exit,
    /// How many ports follow it.
    pub(super) more: u16,
}

/// The spec of a listed exit, or of a range of them.
pub(super) fn listed(spec: &str) -> Result<Spec, ConfigError> {
    let template = || {
        let cure = "give it to Builder::gateway by Gateway::parse";
        bad("holds {session}, so it is the template of a gateway", cure)
    };
    if spec.contains(gateway::SESSION) {
        return Err(template());
    }
    let read = read(spec)?;
    let login = read.first.route().credential().map_or(["", ""], |login| [login.user(), login.password()]);
    if login.iter().any(|part| part.contains(gateway::SESSION)) {
        return Err(template());
    }
    Ok(read)
}

/// The spec of one exit.
pub(super) fn exit(spec: &str) -> Result<Exit, ConfigError> {
    listed(spec).and_then(alone)
}

/// The spec of a proxy: of one port, and not an address of this machine.
pub(super) fn parse(spec: &str) -> Result<Exit, ConfigError> {
    let exit = read(spec).and_then(alone)?;
    if exit.route().via() == Via::Local {
        return Err(bad("names an address of this machine, and not a proxy", FORMS));
    }
    Ok(exit)
}

fn alone(spec: Spec) -> Result<Exit, ConfigError> {
    if spec.more > 0 {
        return Err(bad("names a range of ports", "give it as a line of an ExitList, or name one port"));
    }
    Ok(spec.first)
}

fn read(spec: &str) -> Result<Spec, ConfigError> {
    let spec = line::trim(spec);
    line::check(spec)?;
    let (via, rest) = scheme(spec)?;
    if via == Some(Via::Local) {
        return own(rest).map(|ip| Spec { first: Exit::local(ip), more: 0 });
    }
    let (login, Address { host, port }) = forms::parts(rest)?;
    let host = host_name(host)?;
    let (first, last) = match (port, via) {
        (Some(port), _) => ports(port)?,
        (None, Some(via)) => (via.default_port(), via.default_port()),
        (None, None) => return Err(bad("has no port", "without a scheme the port must be given: host:port")),
    };
    let via = via.unwrap_or(Via::Http);
    let credential = login.map(|(user, password)| Credential::of(via, &user, &password)).transpose()?;
    Ok(Spec { first: Exit::new(via, &host, first, credential), more: last - first })
}

/// Words that begin a spec if `://` follows.
const SCHEMES: [&str; 7] = ["http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"];

fn scheme(spec: &str) -> Result<(Option<Via>, &str), ConfigError> {
    let Some((scheme, rest)) = spec.split_once("://") else {
        let word = spec.find([':', '/', '\\']).map_or("", |at| &spec[..at]).to_ascii_lowercase();
        if SCHEMES.contains(&word.as_str()) {
            return Err(bad("has a scheme without `://`", "write http://host:port"));
        }
        if spec.starts_with('/') {
            return Err(bad("has no scheme before its slashes", "write http://host:port, or host:port"));
        }
        return Ok((None, spec));
    };
    if rest.contains("://") {
        let cure = "one spec a line, one scheme a spec; a password with :// is written with %3A";
        return Err(bad("has two schemes", cure));
    }
    let via = match scheme.to_ascii_lowercase().as_str() {
        "http" => Via::Http,
        "https" => Via::Https,
        "socks5" => Via::Socks5,
        "socks5h" => Via::Socks5h,
        "local" => Via::Local,
        "socks" => {
            return Err(bad("has the scheme socks, which means two protocols", "write socks5h://host:port"));
        }
        "socks4" => Via::Socks4,
        "socks4a" => Via::Socks4a,
        _ => return Err(unspoken(scheme)),
    };
    Ok((Some(via), rest))
}

/// Names the scheme if it can be nothing else: a short word, or a slip of one that is known. What is longer, or mixes letters
/// and digits, may be a piece of a login.
fn unspoken(scheme: &str) -> ConfigError {
    let scheme = scheme.to_ascii_lowercase();
    let word = scheme.trim_end_matches(|c: char| c.is_ascii_digit());
    let plain =
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic()) && scheme.len() - word.len() <= 2;
    let slip = scheme.starts_with("sock") && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    if scheme.len() <= 8 && (plain || slip) {
        let what = format!("has the scheme {scheme}, which is not spoken here");
        return ConfigError::new("proxy spec", what, FORMS);
    }
    bad("has a scheme that is not spoken here", FORMS)
}

/// The address of this machine behind `local://`.
fn own(rest: &str) -> Result<IpAddr, ConfigError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let v6 = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let ip = match v6 {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => rest.parse().ok().map(IpAddr::V4),
    };
    let cure = "write local://192.0.2.7 or local://[2001:db8::7], without port and login";
    match ip {
        Some(ip) if ip.to_canonical().is_unspecified() => {
            Err(bad("leaves the address of this machine open", "name the address to leave from"))
        }
        Some(ip) => Ok(ip),
        None => Err(bad("has no address of this machine behind local://", cure)),
    }
}
