//! Where in the text each key stands, so that an error can name its line.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The places of a document's keys, by path: `pool[0].gateway.password`.
pub(super) struct Places {
    /// Offsets of line ends.
    ends: Vec<usize>,
    at: BTreeMap<String, Place>,
}

struct Place {
    key: Range<usize>,
    value: Range<usize>,
}

impl Places {
    /// Of a document that could not be read: lines alone.
    pub(super) fn lines_of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, at: BTreeMap::new() }
    }

    pub(super) fn of(text: &str, root: &DeTable<'_>) -> Self {
        let mut places = Self::lines_of(text);
        places.add_table("", root);
        places
    }

    fn add_table(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            self.add(child(path, key.get_ref()), key.span(), value.span(), value.get_ref());
        }
    }

    fn add(&mut self, path: String, key: Range<usize>, value: Range<usize>, of: &DeValue<'_>) {
        match of {
            DeValue::Table(table) => self.add_table(&path, table),
            DeValue::Array(array) => {
                for (at, element) in array.iter().enumerate() {
                    let span = element.span();
                    self.add(format!("{path}[{at}]"), span.clone(), span, element.get_ref());
                }
            }
            _ => {}
        }
        self.at.insert(path, Place { key, value });
    }

    /// Whether the document says something at a path.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.at.contains_key(path)
    }

    /// The line of a path, else of what it is in.
    pub(super) fn line(&self, path: &str) -> u32 {
        let mut path = path;
        loop {
            if let Some(place) = self.at.get(path) {
                return self.line_at(place.key.start);
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return 1,
            }
        }
    }

    /// The line of an offset, counted from 1.
    pub(super) fn line_at(&self, offset: usize) -> u32 {
        let before = self.ends.partition_point(|end| *end < offset);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    /// The path of the smallest key or value that a span lies in; empty for the document itself.
    pub(super) fn path_at(&self, span: &Range<usize>) -> &str {
        let holds = |range: &&Range<usize>| range.start <= span.start && span.end <= range.end;
        let least =
            |place: &Place| [&place.key, &place.value].into_iter().filter(holds).map(Range::len).min();
        let known = self.at.iter().filter_map(|(path, place)| Some((least(place)?, path.as_str())));
        // A list may lie where its only element does.
        known.min_by_key(|(length, path)| (*length, Reverse(path.len()))).map_or("", |(_, path)| path)
    }
}

/// The path of a key in a table. A key that is no plain word may be a value that slipped, and is not repeated.
pub(super) fn child(path: &str, key: &str) -> String {
    let key = if is_word(key) { key } else { "?" };
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// Whether a text is what keys look like.
pub(super) fn is_word(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}
