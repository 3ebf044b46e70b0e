//! What the parsers complain of, in words that repeat no value. They quote what they found, which may be a secret.

use super::places::{Places, is_word};
use super::reader::Reader;
use crate::error::{ConfigError, nearest};
use std::path::Path;
use toml::de::Error;

/// Tables of which there may be several.
const LISTS: [&str; 3] = ["pool", "pool.gateway", "site"];
/// What keys are called elsewhere.
const ALIASES: [(&str, &str); 14] = [
    ("username", "user"),
    ("login", "user"),
    ("customer", "user"),
    ("pass", "password"),
    ("pw", "password"),
    ("price", "price_per_gb"),
    ("cost", "price_per_gb"),
    ("in_flight", "max_in_flight"),
    ("limit", "max_in_flight"),
    ("concurrency", "max_in_flight"),
    ("interval", "min_interval"),
    ("delay", "min_interval"),
    ("exits", "proxies"),
    ("host", "origin"),
];

/// A text that is no TOML. These messages name what is wrong with the grammar, and quote nothing.
pub(super) fn syntax(error: &Error, text: &str, file: Option<&Path>) -> ConfigError {
    let cure = "mend the line; see https://toml.io for the grammar";
    let line = Places::lines_of(text).line_at(error.span().map_or(0, |span| span.start));
    let wrong = match twice(text, line) {
        Some((what, cure)) if error.message().contains("duplicate key") => {
            ConfigError::new("config", what, cure)
        }
        _ => ConfigError::new("config", format!("is not TOML: {}", error.message()), cure),
    };
    match file {
        Some(file) => wrong.at_line(line).in_file(file),
        None => wrong.at_line(line),
    }
}

/// What a head says that cannot stand beside another one, and the cure.
fn twice(text: &str, line: u32) -> Option<(String, &'static str)> {
    let head = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?.split('#').next()?.trim();
    let name = head.trim_matches(['[', ']']);
    let (one, many) = (format!("[{name}]"), format!("[[{name}]]"));
    if ![&one, &many].contains(&&head.to_owned()) || !LISTS.contains(&name) {
        return None;
    }
    let other = if head == one { &many } else { &one };
    let is_there = |head: &str| text.lines().any(|line| line.trim_start().starts_with(head));
    Some(match is_there(other) {
        true => (format!("has {one} beside {many}"), "write each head with two brackets"),
        false => (format!("has {one} twice"), "write each head with two brackets: they are a list"),
    })
}

/// A key or value that does not belong there.
pub(super) fn shape(error: &Error, reader: &Reader<'_>) -> ConfigError {
    let span = error.span().unwrap_or(0..0);
    let path = reader.places.path_at(&span);
    let table = path.rfind('.').map_or("", |end| &path[..end]);
    let (is_key, what, cure) = explain(error.message(), table);
    // What is said of a key is said of the table that it is in.
    let path = if is_key { table } else { path };
    let field = if path.is_empty() { "config" } else { path };
    let wrong = ConfigError::new(field.to_owned(), what, cure);
    reader.in_file(wrong.at_line(reader.places.line_at(span.start)))
}

/// Whether it is a key of the table that is wrong, what is wrong, and the cure.
fn explain(message: &str, table: &str) -> (bool, String, String) {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (name, known) = rest.rsplit_once("`, expected ").unwrap_or((rest, ""));
        let known: Vec<_> = known.split('`').skip(1).step_by(2).collect();
        let what = match is_word(name) {
            true => format!("has no key `{name}`"),
            false => "has no such key".into(),
        };
        return (true, what, known_key(name, &known, table));
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return (false, format!("has no {name}"), "add it".into());
    }
    let invalid = ["invalid type: ", "invalid value: ", "invalid length "];
    if let Some(rest) = invalid.iter().find_map(|start| message.strip_prefix(start)) {
        let expected = rest.rsplit_once(", expected ").map_or("of another type", |(_, expected)| expected);
        let cure = match (expected, rest.starts_with("map")) {
            ("a sequence", true) => "write its head with two brackets, like [[pool]]",
            ("a sequence", false) => "put it into brackets, like [\"a\", \"b\"]",
            _ => "see the example for how it is written",
        };
        return (false, format!("is not {}", in_words(expected)), cure.into());
    }
    let (what, cure) = message.split_once("; ").unwrap_or((message, "see the example for how it is written"));
    (false, what.into(), cure.into())
}

fn in_words(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "f64" => "a number",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other => other,
    }
}

/// The key that is meant, by whatever name.
fn known_key(name: &str, known: &[&str], table: &str) -> String {
    let alias = ALIASES.iter().find(|(alias, key)| *alias == name && known.contains(key));
    if let Some((_, key)) = alias {
        return format!("did you mean `{key}`?");
    }
    let cure = suggestion(name, known);
    let in_gateway = table.rsplit('.').next().is_some_and(|last| last.split('[').next() == Some("gateway"));
    match in_gateway && is_word(name) && nearest(name, known.iter().copied()).is_none() {
        true => format!(
            "a placeholder of the template goes under `fields`: fields = {{ {name} = \"..\" }}; else {cure}"
        ),
        false => cure,
    }
}

/// The nearest of what is known, or all of it where nothing is near.
pub(super) fn suggestion(given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        _ if known.is_empty() => "leave it out".into(),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}
