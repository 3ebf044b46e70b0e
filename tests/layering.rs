//! Imports point down: a module names only what its row lists, and only rows above its own. Test code (`tests.rs`, `tests/`,
//! and what follows `#[cfg(test)]`) may look further.

use std::fs;
use std::io;
use std::path::Path;

/// The house, from the ground up.
const MAY: &[(&str, &[&str])] = &[
    // Words.
    ("draw", &[]),
    ("knobs", &[]),
    ("error", &["exit", "outcome", "request", "verdict"]),
    ("exit", &["error", "outcome"]),
    ("outcome", &[]),
    ("request", &["error", "exit", "outcome"]),
    ("share", &["outcome"]),
    ("site", &["error", "outcome"]),
    // Decisions.
    ("verdict", &["draw", "error", "outcome"]),
    ("pool", &["draw", "error", "exit", "knobs", "outcome", "request", "share", "site", "verdict"]),
    ("fleet", &["draw", "error", "exit", "knobs", "outcome", "request", "share", "site", "verdict", "pool"]),
    // The shell.
    ("scheduler", &["draw", "error", "exit", "knobs", "outcome", "request", "site", "verdict", "fleet"]),
    // Layers. Siblings never name each other.
    ("body", &["error"]),
    ("classify", &["body", "error", "exit", "outcome", "request", "scheduler", "site"]),
    ("lease", &["error", "exit", "outcome", "request", "scheduler"]),
    ("retry", &["body", "error", "outcome", "request", "scheduler", "verdict"]),
    ("stack", &["classify", "lease", "request", "retry", "scheduler"]),
    // Beside tower-http's layers.
    ("redirect", &["request"]),
    ("trace", &["error", "outcome", "scheduler"]),
    // The wire: knows routes and phases. Only the boxed whole knows a scheduler.
    ("client", &["body", "error", "exit", "outcome"]),
    ("per_exit", &["error", "exit", "outcome"]),
    ("client/egress", &["body", "classify", "client", "error", "scheduler", "stack"]),
    // A file that says it all.
    (
        "config",
        &[
            "classify",
            "client",
            "error",
            "exit",
            "outcome",
            "request",
            "scheduler",
            "site",
            "stack",
            "verdict",
        ],
    ),
    // The misbehaving world: uses the crate, never the reverse.
    ("lab", &["error", "exit", "outcome"]),
    // The same in virtual time: drives the decisions themselves.
    ("lab/sim", &["draw", "error", "exit", "fleet", "knobs", "outcome", "request", "site", "verdict"]),
    // And the whole stack, to hold both to the same decisions.
    (
        "lab/sim/stack",
        &[
            "classify",
            "draw",
            "error",
            "exit",
            "lease",
            "outcome",
            "request",
            "scheduler",
            "stack",
            "verdict",
        ],
    ),
];

/// Words may name each other in one place each; everything else must point up the table.
const WORDS: &[&str] = &["error", "exit", "outcome", "request", "verdict"];

fn row(file: &str) -> Option<usize> {
    let longest = |(_, (module, _)): &(usize, &(&str, &[&str]))| module.len();
    let holds =
        |module: &str| file == module || file.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'));
    MAY.iter().enumerate().filter(|(_, (module, _))| holds(module)).max_by_key(longest).map(|(at, _)| at)
}

fn allowed(from: usize, to: &str) -> bool {
    let (module, may) = MAY[from];
    let own = module.split('/').next() == Some(to);
    let above = MAY[..from].iter().any(|(name, _)| *name == to);
    let words = WORDS.contains(&module) && WORDS.contains(&to);
    own || (may.contains(&to) && (above || words))
}

/// The names that follow `crate::` in a line, `crate::{a, b}` included.
fn named(code: &str) -> Vec<&str> {
    let ident = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => {
                names.extend(list.split(['{', '}', ',']).map(|name| &name.trim()[..ident(name.trim())]))
            }
            None => names.push(&rest[..ident(rest)]),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn imports_point_down() -> io::Result<()> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut wrong, mut read) = (vec![src.clone()], Vec::new(), 0);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
            continue;
        }
        let inside = path.strip_prefix(&src).expect("found below src").with_extension("");
        let file = inside.to_string_lossy().replace('\\', "/");
        if file == "lib"
            || path.extension().is_none_or(|end| end != "rs")
            || file.split('/').any(|part| part == "tests")
        {
            continue;
        }
        let Some(row) = row(&file) else { panic!("`{file}` has no row in the table") };
        read += 1;
        for (line, text) in (1..).zip(fs::read_to_string(&path)?.lines()) {
            if text.trim() == "#[cfg(test)]" && !file.ends_with("/mod") {
                break;
            }
            let code = text.split("//").next().unwrap_or(text);
            for to in named(code) {
                if !allowed(row, to) {
                    wrong.push(format!("src/{file}.rs:{line}: {}", text.trim()));
                }
            }
            if code.contains("super::super::super") {
                wrong.push(format!("src/{file}.rs:{line}: climbs out of its module: {}", text.trim()));
            }
        }
    }
    assert!(read > 20, "the house was read: {read} files");
    assert!(wrong.is_empty(), "the table does not allow:\n{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn the_table_is_in_order() {
    for (at, (module, may)) in MAY.iter().enumerate() {
        for to in *may {
            let known = MAY.iter().any(|(name, _)| name == to);
            assert!(known && allowed(at, to), "`{module}` may not name `{to}`: its row is not above");
        }
    }
}

#[test]
fn a_wrong_import_is_found() {
    let at = |module: &str| row(module).expect("has a row");
    assert!(!allowed(at("lease/layer"), "classify") && !allowed(at("pool/gate"), "fleet"));
    assert!(!allowed(at("client/pool"), "scheduler") && allowed(at("client/egress"), "scheduler"));
    assert_eq!(named("use crate::{fleet::Fleet, pool};"), ["fleet", "pool"]);
    assert_eq!(named("let x: crate::pool::Pool = crate::fleet::y();"), ["pool", "fleet"]);
}
