//! What stands around a spec in a line, and what stands in lines that hold none.

use super::{FORMS, bad};
use crate::error::ConfigError;

/// The spec in a line of a list: without edges, quotes and comment; `None` for a line that holds none.
pub(in crate::exit) fn of_line(line: &str) -> Option<&str> {
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

/// Web pages and editors leave these at the edges.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_ascii_whitespace() || matches!(c, '\u{a0}' | '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
    })
}

/// Refuses what is pasted for a spec and is none, as what it is.
pub(super) fn check(spec: &str) -> Result<(), ConfigError> {
    if spec.is_empty() {
        return Err(bad("is empty", FORMS));
    }
    if is_setting(spec) {
        let cure = "leave the name and the `=` away: one spec a line";
        return Err(bad("is no proxy but a setting of the environment", cure));
    }
    if is_directive(spec) {
        let cure = "leave the word in front away, and write scheme://host:port";
        return Err(bad("is no proxy but a directive of a PAC file or a tool", cure));
    }
    let object = spec.strip_prefix('{').map(str::trim_start);
    let is_object = object.is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '\'', '}']));
    if is_object || matches!(spec, "[" | "]" | "}" | "},") {
        return Err(bad("is no proxy but a piece of JSON", "one spec a line, quoted or not"));
    }
    let lower = spec.to_ascii_lowercase();
    if lower.contains("[email") && lower.contains("protected]") {
        let cure = "a web page hid a part of it as an e-mail address: copy it from the provider's own export";
        return Err(bad("has a hidden e-mail address in it", cure));
    }
    if lower.ends_with(']') && ["[http://", "[https://"].iter().any(|link| lower.contains(link)) {
        let cure = "leave the brackets away; the link is to be asked for by whoever rotates the exit";
        return Err(bad("has a link that rotates it at its end", cure));
    }
    if spec.chars().any(char::is_whitespace) {
        let cure =
            "one spec a line, its parts set apart by colons; a space in a login is %20, in a form with `@`";
        return Err(bad("holds white space", cure));
    }
    Ok(())
}

/// `export NAME=..`, `NAME_PROXY=..`, `NAME=scheme://..`.
fn is_setting(spec: &str) -> bool {
    let (first, rest) = spec.split_once(char::is_whitespace).unwrap_or((spec, ""));
    if ["export", "set", "setx", "setenv"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return !rest.is_empty();
    }
    let Some((name, value)) = spec.split_once('=') else { return false };
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let scheme = value.trim_start_matches(['"', '\'']).split_once("://").map(|(scheme, _)| scheme);
    is_name
        && (name.to_ascii_lowercase().ends_with("proxy")
            || scheme.is_some_and(|scheme| scheme.bytes().all(|b| b.is_ascii_alphanumeric())))
}

/// `PROXY host:port; DIRECT`, `socks5 host port`.
fn is_directive(spec: &str) -> bool {
    const WORDS: [&str; 8] = ["proxy", "http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"];
    let (first, rest) = spec.split_once(char::is_whitespace).unwrap_or((spec, ""));
    first.trim_end_matches(';').eq_ignore_ascii_case("direct")
        || !rest.is_empty() && WORDS.iter().any(|word| first.eq_ignore_ascii_case(word))
}
