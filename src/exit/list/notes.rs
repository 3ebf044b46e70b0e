//! What is to be said of a list's lines.

use crate::error::ConfigError;

/// Notes kept of a list; more are only counted.
const MOST: usize = 100;

/// The first notes, and how many there are.
#[derive(Clone, Default)]
pub(super) struct Notes {
    kept: Vec<ConfigError>,
    total: usize,
}

impl Notes {
    pub(super) fn add(&mut self, note: ConfigError) {
        self.total += 1;
        if self.kept.len() < MOST {
            self.kept.push(note);
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        let room = MOST - self.kept.len();
        self.total += other.total;
        self.kept.extend(other.kept.into_iter().take(room));
    }

    pub(super) fn kept(&self) -> &[ConfigError] {
        &self.kept
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }
}
