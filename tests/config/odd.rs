//! Odd texts are refused and nothing else.

use proptest::prelude::*;
use tower_egress::Config;

const EXAMPLE: &str = include_str!("../../examples/egress.toml");
/// What no message may contain.
const SECRET: &str = "hunter2";

const PIECES: &[&str] = &[
    "[[pool]]",
    "[pool.gateway]",
    "[[pool.gateway]]",
    "[[site]]",
    "[request]",
    "[retry]",
    "[client]",
    "[bounds]",
    "[pool]",
    "name",
    "proxies",
    "template",
    "password",
    "fields",
    "origin",
    "pools",
    "statuses",
    "quiet",
    "weight",
    "price_per_gb",
    "window",
    "preset",
    "seed",
    "strict",
    "rotating",
    "user",
    "roots",
    " = ",
    "=",
    ".",
    ",",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\n",
    "\n",
    "\n",
    "#",
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "0x",
    "1979-05-27T07:32:00Z",
    "true",
    "'30s'",
    "'99999999999999999999y'",
    "'dc'",
    "'u-{session}:hunter2@gw.test:1'",
    "'hunter2'",
    "hunter2",
    "\u{feff}",
    "é",
    "\0",
    "{ env = ",
    "{ file = ",
    "'/dev/null'",
    "\\u",
];

/// Reads it; whatever comes out shows no secret.
fn read(text: &str) {
    match Config::parse(text) {
        Ok(config) => {
            let _ = (config.builder(), config.classify(), config.lease("k"));
            let shown = format!("{config}{config:?}{:?}", config.warnings());
            assert!(!shown.contains(SECRET), "{text}\n{shown}");
        }
        Err(error) => {
            let shown = without_keys(&format!("{error} {error:?}"));
            assert!(!shown.contains(SECRET), "{text}\n{shown}");
            assert!(error.line().is_some() || error.file().is_some(), "{text}\n{shown}");
        }
    }
}

/// A key that is not known is named, whatever is a part of it: keys are no secrets.
fn without_keys(told: &str) -> String {
    let mut pieces = told.split("has no key `");
    let first = pieces.next().unwrap_or_default();
    pieces.fold(first.to_owned(), |kept, piece| kept + piece.split_once('`').map_or(piece, |(_, rest)| rest))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn pieces_in_any_order(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        read(&pieces.concat());
    }

    #[test]
    fn the_example_with_a_hole_and_something_else_in_it(
        from in 0..EXAMPLE.len(), length in 0..40_usize, piece in prop::sample::select(PIECES),
    ) {
        let text = EXAMPLE.replace("{ env = ", "{ file = ");
        let (head, rest) = (text.get(..from), text.get(from + length..));
        if let (Some(head), Some(rest)) = (head, rest) {
            read(&format!("{head}{piece}{rest}"));
        }
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        read(&text);
    }

    #[test]
    fn any_value(key in "(pool|site|request|retry|client|bounds|classify|member|seed)", value in "\\PC{0,40}") {
        read(&format!("{key} = {value}"));
        read(&format!("[{key}]\nx = {value}\n"));
        read(&format!("[[{key}]]\nname = {value}\norigin = {value}\n"));
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    read(&format!("a = {}", "[".repeat(100_000)));
    read(&format!("{}a = 1", "a.".repeat(10_000)));
    read(&format!("a = {}", "{a=".repeat(100_000)));
}
