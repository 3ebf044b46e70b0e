//! All marks in one or two passes over a page.

use super::marks::{AKAMAI, PAGES};
use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, MatchKind as Order};
use std::sync::LazyLock;

/// Marks by their bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found(u128);

/// What of the marks a row wants.
pub(super) struct Wanted {
    one: u128,
    also: u128,
    unless: u128,
}

impl Wanted {
    pub(super) const fn are_in(&self, found: Found) -> bool {
        let found = found.0;
        found & self.one != 0 && (self.also == 0 || found & self.also != 0) && found & self.unless == 0
    }
}

struct Search {
    marks: Vec<&'static str>,
    by: By,
    rows: Vec<Wanted>,
}

enum By {
    /// Vectors: a page in a third of an automaton's time. A searcher takes 64 marks, and knows its own from 0.
    Vectors(Vec<(u32, Searcher)>),
    /// Where the processor has none.
    Automaton(AhoCorasick),
}

/// Built at the first page that is searched.
static SEARCH: LazyLock<Search> = LazyLock::new(Search::new);

/// What each row wants, in the order of the table.
pub(super) fn rows() -> &'static [Wanted] {
    &SEARCH.rows
}

/// The marks that are in a text.
pub(super) fn search(text: &[u8]) -> Found {
    let mut found = 0;
    let mut see = |mark: u32, rest: &[u8]| {
        let is_number = |rest| is_reference(rest);
        let shaped = AKAMAI.contains(&SEARCH.marks[mark as usize]);
        if !shaped || is_number(rest) {
            found |= 1 << mark;
        }
    };
    match &SEARCH.by {
        By::Vectors(searchers) => {
            for (first, searcher) in searchers {
                for at in searcher.find_iter(text) {
                    see(first + at.pattern().as_u32(), &text[at.end()..]);
                }
            }
        }
        By::Automaton(automaton) => {
            for at in automaton.find_iter(text) {
                see(at.pattern().as_u32(), &text[at.end()..]);
            }
        }
    }
    Found(found)
}

impl Search {
    fn new() -> Self {
        let mut marks = Vec::new();
        for row in PAGES {
            for mark in [row.marks, row.also, row.unless].concat() {
                if !marks.contains(&mark) {
                    marks.push(mark);
                }
            }
        }
        debug_assert!(marks.len() <= 128, "a bit each");
        let bits = |of: &[&str]| {
            let bit = |mark: &&str| marks.iter().position(|known| known == mark).map_or(0, |at| 1_u128 << at);
            of.iter().map(bit).fold(0, |all, bit| all | bit)
        };
        let wanted = |row: &super::marks::Row| Wanted {
            one: bits(row.marks),
            also: bits(row.also),
            unless: bits(row.unless),
        };
        let rows = PAGES.iter().map(wanted).collect();
        let by = vectors(&marks).map_or_else(|| automaton(&marks), By::Vectors);
        Self { marks, by, rows }
    }
}

fn vectors(marks: &[&'static str]) -> Option<Vec<(u32, Searcher)>> {
    const MOST: usize = 64;
    let part = marks.len().div_ceil(marks.len().div_ceil(MOST));
    let mut config = Config::new();
    config.match_kind(MatchKind::LeftmostLongest);
    let searcher = |marks: &[&str]| config.builder().extend(marks).build();
    (0..)
        .step_by(part)
        .zip(marks.chunks(part))
        .map(|(first, marks)| Some((first, searcher(marks)?)))
        .collect()
}

fn automaton(marks: &[&'static str]) -> By {
    let built = AhoCorasick::builder().match_kind(Order::LeftmostLongest).build(marks);
    By::Automaton(built.expect("a hundred short marks"))
}

/// Whether Akamai's number follows: `18.2d351ab8.1557333295.a4e16ab`, the points as they are or as entities.
fn is_reference(mut rest: &[u8]) -> bool {
    for part in 0..3 {
        let hex = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let point = [&b"."[..], b"&#46;"].into_iter().find(|point| rest[hex..].starts_with(point));
        match point {
            Some(point) if hex > 0 && (part != 0 || rest[..hex].iter().all(u8::is_ascii_digit)) => {
                rest = &rest[hex + point.len()..];
            }
            _ => return false,
        }
    }
    rest.first().is_some_and(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_alone_and_by_either_way() {
        let automaton = automaton(&SEARCH.marks);
        let By::Automaton(automaton) = &automaton else { panic!("an automaton") };
        for (at, mark) in SEARCH.marks.iter().enumerate() {
            let number = if AKAMAI.contains(mark) { "18.2d.15.a" } else { "" };
            let text = format!("<p>{mark}{number}</p>");
            assert!(search(text.as_bytes()).0 & 1 << at != 0, "{mark}");
            assert_eq!(automaton.find(&text).map(|at| at.pattern().as_usize()), Some(at), "{mark}");
        }
        assert_eq!(search(b"<p>nothing</p>").0, 0);
    }

    #[test]
    fn on_this_machine_vectors_are_used() {
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert!(matches!(&SEARCH.by, By::Vectors(searchers) if searchers.len() <= 2));
        }
    }

    #[test]
    fn a_reference_is_a_number_of_four_parts() {
        for yes in ["18.2d351ab8.1557333295.a4e16ab<", "9&#46;2d&#46;15&#46;a"] {
            assert!(is_reference(yes.as_bytes()), "{yes}");
        }
        for no in ["", "18", "18.2d", "18.2d.15.", "x.2d.15.a", "2d.2d.15.a", "42 of our shop"] {
            assert!(!is_reference(no.as_bytes()), "{no}");
        }
    }
}
