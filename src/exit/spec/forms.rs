//! Which part of a spec is the login and which the address. Where two readings are possible none is taken.

use super::address::{Address, is_bare_ipv6, looks_like_host, ports};
use super::{FORMS, bad};
use crate::error::ConfigError;
use percent_encoding::percent_decode_str;

/// User and password.
type Login = Option<(String, String)>;

fn two_ways() -> ConfigError {
    bad(
        "can be read in two ways",
        "write http://user:password@host:port, and `@`, `:` and `/` in the password as %40, %3A and %2F",
    )
}

/// Login and address of what follows the scheme.
pub(super) fn parts(rest: &str) -> Result<(Login, Address<'_>), ConfigError> {
    match rest.rsplit_once('@') {
        Some((login, address)) => with_at(login, address),
        None => colon_list(rest),
    }
}

/// `user:password@host[:port]`, split at the last `@`.
fn with_at<'a>(login: &str, address: &'a str) -> Result<(Login, Address<'a>), ConfigError> {
    not_reversed(login, address)?;
    if login.ends_with('\\') {
        return Err(bad("has a backslash before the `@`", "remove what the shell left there"));
    }
    let address = Address::of(address)?;
    if address.port.is_none() && login.contains(['/', '?', '#']) {
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
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Ok((Some((decode(user)?, decode(password)?)), address))
}

/// Refuses a login that is an address, or begins with one: `host:port@user:password`, `host:port:user:pass@word`,
/// `host/@path`.
fn not_reversed(login: &str, address: &str) -> Result<(), ConfigError> {
    let (head, more) = login.split_at(login.find(['/', '?', '#']).unwrap_or(login.len()));
    let host_end = if head.starts_with('[') { head.find(']').map_or(0, |at| at + 1) } else { 0 };
    let colon = head[host_end..].find(':').map(|at| at + host_end);
    let port_end =
        colon.map_or(head.len(), |at| head[at + 1..].find(':').map_or(head.len(), |end| at + 1 + end));
    let Ok(front) = Address::of(&head[..port_end]) else { return Ok(()) };
    if port_end < head.len() || !more.is_empty() {
        let is_host = front.port.is_none() && looks_like_host(front.host) && !more.is_empty();
        return if front.is_plain() || is_host { Err(two_ways()) } else { Ok(()) };
    }
    let is_host = |back: Address<'_>| back.is_plain() || back.port.is_none() && looks_like_host(back.host);
    let back = Address::of(address).is_ok_and(is_host);
    if front.is_plain() && (front.is_literal() || !back) {
        return Err(bad("has its halves in the wrong order", "write user:password@host:port"));
    }
    Ok(())
}

/// `host[:port]`, `host:port:user:password`, or `user:password:host:port` where only that reading has a host. Taken as it
/// stands: a `%` in it is one.
fn colon_list(list: &str) -> Result<(Login, Address<'_>), ConfigError> {
    if is_bare_ipv6(list) {
        return Err(bad("has an IPv6 address without brackets", "write [2001:db8::1]:8080"));
    }
    let after_host = if list.starts_with('[') { list.find(']').map_or(0, |at| at + 1) } else { 0 };
    let mut colons = list[after_host..].match_indices(':').map(|(at, _)| at + after_host);
    let (Some(_), Some(port_end)) = (colons.next(), colons.next()) else {
        return Address::of(list).map(|address| (None, address));
    };
    let front = Address::of(&list[..port_end]).and_then(|front| {
        front.port.map_or(Ok((0, 0)), ports)?;
        Ok(front)
    });
    let Some(user_end) = colons.next() else {
        // What does not begin with an address lacks more than a password.
        front?;
        return Err(bad("has a user name but no password", "write host:port:user: for an empty password"));
    };
    let last = list.rfind(':').unwrap_or(0);
    let cut = list[..last].rfind(if list[..last].ends_with(']') { ":[" } else { ":" });
    let back = cut.and_then(|cut| Some((cut, Address::of(&list[cut + 1..]).ok().filter(Address::is_plain)?)));
    match (front, back) {
        (Ok(front), Some(_)) if looks_like_host(front.host) => Err(two_ways()),
        (_, Some((cut, back))) => {
            let login = &list[..cut];
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            Ok((Some((user.to_owned(), password.to_owned())), back))
        }
        (Ok(front), None) => match (&list[port_end + 1..user_end], &list[user_end + 1..]) {
            ("", _) => Err(bad("has an empty user name", FORMS)),
            (user, password) => Ok((Some((user.to_owned(), password.to_owned())), front)),
        },
        (Err(no_address), None) => Err(no_address),
    }
}
