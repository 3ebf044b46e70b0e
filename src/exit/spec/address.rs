//! Hosts and ports.

use super::{FORMS, bad};
use crate::error::ConfigError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `host[:port]` as it stands there, a host of IPv6 with its brackets.
#[derive(Clone, Copy)]
pub(super) struct Address<'a> {
    pub(super) host: &'a str,
    pub(super) port: Option<&'a str>,
}

const BRACKETS: &str = "write [2001:db8::1]:8080";

impl<'a> Address<'a> {
    /// `host[:port]`, and one slash that a URL may end with.
    pub(super) fn of(text: &'a str) -> Result<Self, ConfigError> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let (host, rest) = match text.strip_prefix('[') {
            Some(v6) => {
                let end = v6
                    .find(']')
                    .ok_or_else(|| bad("has no usable host: there is a `[` without `]`", BRACKETS))?;
                text.split_at(end + 2)
            }
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match rest.strip_prefix(':') {
            Some("") => {
                return Err(bad("has no port behind its colon", "give the port, or leave the colon out"));
            }
            Some(port) if port.contains(':') => return Err(too_many(text)),
            Some(port) => Some(port),
            None if rest.is_empty() => None,
            None => return Err(bad("has no usable host: there is text behind its `]`", BRACKETS)),
        };
        Ok(Self { host, port })
    }

    /// Whether it can be nothing but an address: a dotted name or an address of IP, and a port or a range of them.
    pub(super) fn is_plain(&self) -> bool {
        looks_like_host(self.host) && self.port.is_some_and(|port| ports(port).is_ok())
    }

    /// Whether its host is an address of IP, or this machine: what nobody is called.
    pub(super) fn is_literal(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok()
            || bracketed(self.host).is_some()
    }
}

fn too_many(text: &str) -> ConfigError {
    match is_bare_ipv6(text) {
        true => bad("has an IPv6 address without brackets", BRACKETS),
        false => bad("has too many colons", FORMS),
    }
}

/// Whether it is one, or one with more behind it: nobody could tell where its port begins.
pub(super) fn is_bare_ipv6(text: &str) -> bool {
    let ends = text.match_indices(':').map(|(at, _)| at).chain([text.len()]);
    let begins_so = |end: usize| text[..end].parse::<Ipv6Addr>().is_ok();
    // The longest is eight groups, and an address of IPv4 in its last two.
    ends.take(9).any(begins_so)
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

/// A dotted name or an address: what tells a host from a user name.
pub(super) fn looks_like_host(text: &str) -> bool {
    let told = text.eq_ignore_ascii_case("localhost") || text.contains('.') || text.starts_with('[');
    told && host_name(text).is_ok()
}

/// The name in lower case, or the address without brackets.
pub(super) fn host_name(host: &str) -> Result<String, ConfigError> {
    const CURE: &str = "give a name of letters, digits, `-`, `_` and dots, or an IP address";
    if let Some(v6) = bracketed(host) {
        if v6.contains('%') {
            return Err(bad("has an IPv6 zone, which is not supported", "give an address without `%`"));
        }
        return match v6.parse::<Ipv6Addr>() {
            Ok(_) => Ok(v6.to_ascii_lowercase()),
            Err(_) => Err(bad("has no usable host: it is not an IPv6 address in its brackets", BRACKETS)),
        };
    }
    if host.is_empty() {
        return Err(bad("has no host", FORMS));
    }
    if host.parse::<Ipv4Addr>().is_ok() {
        return Ok(host.to_owned());
    }
    if host.contains(['|', ',', ';']) {
        return Err(bad("has its parts set apart by something else than colons", FORMS));
    }
    if host.contains(['/', '?', '#']) {
        return Err(bad("has a path behind its host", "a proxy has none: end the spec with the port"));
    }
    if !host.is_ascii() {
        return Err(bad("has a host that is not ASCII", "write its name in punycode, xn--.., as DNS has it"));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(good);
    // As resolvers read it, such a name is an address of IPv4, and not the one it looks like.
    let digits = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if digits || name.len() > 253 || !name.split('.').all(label) {
        return Err(bad("has no usable host", CURE));
    }
    Ok(host.to_ascii_lowercase())
}

/// `port`, or `first-last` with both ends; the first and the last.
pub(super) fn ports(text: &str) -> Result<(u16, u16), ConfigError> {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if digit(text) && text.contains(['/', '?', '#']) {
        return Err(bad("has a path behind its port", "a proxy has none: end the spec with the port"));
    }
    if text.contains(['|', ',', ';']) {
        return Err(bad("has its parts set apart by something else than colons", FORMS));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(bad("has a range of ports that runs backwards", "write the smaller one first"));
    }
    Ok((first, last))
}

fn number(text: &str) -> Result<u16, ConfigError> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad("has a port that is not a number", "check what follows the host's colon"));
    }
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(bad("has a port that is not 1 to 65535", "check the number after the host")),
    }
}
