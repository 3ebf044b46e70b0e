//! One proxy spec. An own parser, because URI parsers read a raw `/` or `@` in a password as the end of the host, and then
//! dial the wrong one: a guess here sends a password to DNS.

use super::{Credential, Exit, Via};
use crate::error::ConfigError;
use percent_encoding::percent_decode_str;
use std::net::{Ipv4Addr, Ipv6Addr};

const FORMS: &str = "write host:port, host:port:user:password or scheme://user:password@host:port, the scheme http, https, \
                     socks5h or socks5";

fn bad(what: &'static str, cure: &'static str) -> ConfigError {
    ConfigError::new("proxy spec", what, cure)
}

/// The spec in a line of a list: without edges, quotes and comment; `None` for a line that holds none.
pub(super) fn of_line(line: &str) -> Option<&str> {
    let line = trim(line);
    if line.is_empty() || ["#", ";", "//"].iter().any(|mark| line.starts_with(mark)) {
        return None;
    }
    let comment = line.match_indices('#').find(|(at, _)| line[..*at].ends_with([' ', '\t']));
    let line = trim(comment.map_or(line, |(at, _)| &line[..at]));
    let bare = line.strip_suffix(',').unwrap_or(line);
    let quoted = ['"', '\''].iter().find_map(|q| bare.strip_prefix(*q)?.strip_suffix(*q));
    Some(quoted.map_or(line, trim))
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_ascii_whitespace() || matches!(c, '\u{a0}' | '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
    })
}

pub(super) fn parse(spec: &str) -> Result<Exit, ConfigError> {
    let spec = trim(spec);
    if spec.is_empty() {
        return Err(bad("is empty", FORMS));
    }
    if spec.chars().any(char::is_whitespace) {
        return Err(bad("holds white space", "one spec a line; write a space in a password as %20"));
    }
    let (via, rest) = scheme(spec)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (login, host, port) = match rest.rsplit_once('@') {
        Some((login, address)) => with_at(login, address)?,
        None => colon_list(rest)?,
    };
    let port = match (port, via) {
        (Some(port), _) => number(port)?,
        (None, Some(via)) => via.default_port(),
        (None, None) => return Err(bad("has no port", "without a scheme the port must be given: host:port")),
    };
    let host = host_name(host)?;
    let via = via.unwrap_or(Via::Http);
    let credential = login.map(|(user, password)| Credential::of(via, &user, &password)).transpose()?;
    Ok(Exit::new(via, &host, port, credential))
}

fn scheme(spec: &str) -> Result<(Option<Via>, &str), ConfigError> {
    let Some((scheme, rest)) = spec.split_once("://") else {
        let first = spec.split(':').next().unwrap_or_default();
        return match first.to_ascii_lowercase().as_str() {
            "http" | "https" | "socks" | "socks4" | "socks4a" | "socks5" | "socks5h" => {
                Err(bad("has a scheme without `//`", "write http://host:port"))
            }
            _ => Ok((None, spec)),
        };
    };
    if rest.contains("://") {
        return Err(bad("has two schemes", "one spec a line, one scheme a spec"));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Ok((Some(Via::Http), rest)),
        "https" => Ok((Some(Via::Https), rest)),
        "socks5" => Ok((Some(Via::Socks5), rest)),
        "socks5h" => Ok((Some(Via::Socks5h), rest)),
        "socks4" | "socks4a" => Err(bad(
            "has a scheme that this version does not dial",
            "use the proxy's socks5h:// or http:// endpoint",
        )),
        "socks" => Err(bad("has a scheme that means two protocols", "write socks5h://host:port")),
        _ => Err(bad("has an unknown scheme", FORMS)),
    }
}

type Parts<'a> = (Option<(String, String)>, &'a str, Option<&'a str>);

/// `user:password@host[:port]`, split at the last `@`.
fn with_at<'a>(login: &str, address: &'a str) -> Result<Parts<'a>, ConfigError> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    if looks_like_host(user) && !password.is_empty() && password.bytes().all(|b| b.is_ascii_digit()) {
        let numeric =
            address.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        if !numeric {
            return Err(bad("has its halves in the wrong order", "write user:password@host:port"));
        }
    }
    if login.ends_with('\\') {
        return Err(bad("has a backslash before the `@`", "remove what the shell left there"));
    }
    let (host, port) = address_of(address)?;
    if port.is_none() && login.contains(['/', '?', '#']) {
        return Err(bad(
            "has no port after a login with `/`, `?` or `#`",
            "give the port, or write %2F, %3F, %23",
        ));
    }
    let decode = |part: &str| {
        percent_decode_str(part).decode_utf8().map(String::from).map_err(|_| {
            bad(
                "has a login that is not UTF-8 once decoded",
                "write other bytes, or ask for another password",
            )
        })
    };
    Ok((Some((decode(user)?, decode(password)?)), host, port))
}

/// `host[:port]` in front of nothing else.
fn address_of(address: &str) -> Result<(&str, Option<&str>), ConfigError> {
    if let Some(v6) = address.strip_prefix('[') {
        let (host, rest) =
            v6.split_once(']').ok_or_else(|| bad("has a `[` without `]`", "write [2001:db8::1]:8080"))?;
        return match (rest, rest.strip_prefix(':')) {
            ("", _) => Ok((host, None)),
            (_, Some(port)) => Ok((host, Some(port))),
            _ => Err(bad("has text between `]` and the port", "write [2001:db8::1]:8080")),
        };
    }
    match address.split_once(':') {
        None => Ok((address, None)),
        Some((_, rest)) if rest.contains(':') => {
            Err(bad("has too many colons, or an IPv6 address without brackets", FORMS))
        }
        Some((host, port)) => Ok((host, Some(port))),
    }
}

/// `host:port`, `host:port:user:password`, `user:password:host:port` where only that reading has a host.
fn colon_list(list: &str) -> Result<Parts<'_>, ConfigError> {
    if list.parse::<Ipv6Addr>().is_ok() {
        return Err(bad("has an IPv6 address without brackets", "write [2001:db8::1]:8080"));
    }
    let after_host = if list.starts_with('[') { list.find(']').map_or(0, |at| at + 1) } else { 0 };
    let colons: Vec<usize> = list[after_host..].match_indices(':').map(|(at, _)| at + after_host).collect();
    match colons[..] {
        [] | [_] => address_of(list).map(|(host, port)| (None, host, port)),
        [_, _] => Err(bad("has a user name but no password", "write host:port:user: for an empty password")),
        [_, port_end, pass_at, ..] => {
            let (host, port) = address_of(&list[..port_end])?;
            let user = &list[port_end + 1..pass_at];
            let cut = list[..colons[colons.len() - 1]].rfind(':').unwrap_or(0);
            let (host_back, port_back) = address_of(&list[cut + 1..])?;
            let front = is_port(port) && !host.is_empty();
            let back = is_port(port_back) && looks_like_host(host_back);
            match (front, back) {
                (true, true) if looks_like_host(host) => {
                    Err(bad("can be read in two ways", "write http://user:password@host:port"))
                }
                (true, false) if user.is_empty() => Err(bad("has an empty user name", FORMS)),
                (true, false) => Ok((Some((user.to_owned(), list[pass_at + 1..].to_owned())), host, port)),
                (_, true) => {
                    let (user, password) = list[..cut].split_once(':').unwrap_or((&list[..cut], ""));
                    Ok((Some((user.to_owned(), password.to_owned())), host_back, port_back))
                }
                (false, false) => Err(bad("has no port where one should be", FORMS)),
            }
        }
    }
}

fn is_port(port: Option<&str>) -> bool {
    port.is_some_and(|p| number(p).is_ok())
}

fn number(port: &str) -> Result<u16, ConfigError> {
    if port.contains(['/', '?']) && port.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(bad("has a path behind its port", "a proxy has none: end the spec with the port"));
    }
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(bad("has a port that is not 1 to 65535", "check the number after the host")),
    }
}

/// A dotted name or an address: what tells a host from a user name.
fn looks_like_host(text: &str) -> bool {
    text.eq_ignore_ascii_case("localhost") || (text.contains('.') && host_name(text).is_ok())
}

fn host_name(host: &str) -> Result<String, ConfigError> {
    if host.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv4Addr>().is_ok() {
        return Ok(host.to_ascii_lowercase());
    }
    let dotted_digits = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > 255 || dotted_digits || !host.bytes().all(good) {
        return Err(bad("has no usable host", "give a name (ASCII, at most 255 bytes) or an IP address"));
    }
    Ok(host.to_ascii_lowercase())
}
