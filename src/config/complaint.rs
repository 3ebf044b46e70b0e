//! What the parsers complain of, in words that repeat no value. They quote what they found, which may be a secret.

use super::places::{Places, is_word};
use super::reader::Reader;
use crate::error::{ConfigError, nearest};
use std::path::Path;
use toml::de::Error;

/// A text that is no TOML. These messages name what is wrong with the grammar, and quote nothing.
pub(super) fn syntax(error: &Error, text: &str, file: Option<&Path>) -> ConfigError {
    let cure = "mend the line; see https://toml.io for the grammar";
    let wrong = ConfigError::new("config", format!("is not TOML: {}", error.message()), cure);
    let line = Places::lines_of(text).line_at(error.span().map_or(0, |span| span.start));
    match file {
        Some(file) => wrong.at_line(line).in_file(file),
        None => wrong.at_line(line),
    }
}

/// A key or value that does not belong there.
pub(super) fn shape(error: &Error, reader: &Reader<'_>) -> ConfigError {
    let span = error.span().unwrap_or(0..0);
    let path = reader.places.path_at(&span);
    let (is_key, what, cure) = explain(error.message());
    // What is said of a key is said of the table that it is in.
    let path = if is_key { path.rfind('.').map_or("", |end| &path[..end]) } else { path };
    let field = if path.is_empty() { "config" } else { path };
    let wrong = ConfigError::new(field.to_owned(), what, cure);
    reader.in_file(wrong.at_line(reader.places.line_at(span.start)))
}

/// Whether it is a key that is wrong, what is wrong, and the cure.
fn explain(message: &str) -> (bool, String, String) {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (name, known) = rest.rsplit_once("`, expected ").unwrap_or((rest, ""));
        let known: Vec<_> = known.split('`').skip(1).step_by(2).collect();
        let what = match is_word(name) {
            true => format!("has no key `{name}`"),
            false => "has no such key".into(),
        };
        return (true, what, suggestion(name, &known));
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

/// The nearest of what is known, or all of it where nothing is near.
pub(super) fn suggestion(given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        _ if known.is_empty() => "leave it out".into(),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}
