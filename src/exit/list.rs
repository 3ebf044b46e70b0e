//! Lists of exits, one spec a line.

use super::{Exit, spec};
use crate::error::ConfigError;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::Path;

/// Exits from a file or text: one proxy spec a line. Empty lines and those that begin with `#`, `;` or `//` are skipped; a
/// `#` after white space begins a comment. The same exit twice counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitList(Vec<Exit>);

impl ExitList {
    /// Reads a list from a text.
    ///
    /// # Errors
    /// The first bad line, by number; or that the text names no exit at all.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut first_at: HashMap<_, (u32, usize)> = HashMap::new();
        let mut exits: Vec<Exit> = Vec::new();
        for (number, line) in (1_u32..).zip(text.lines()) {
            let Some(spec) = spec::of_line(line) else { continue };
            let exit = Exit::parse(spec).map_err(|error| error.at_line(number))?;
            match first_at.entry(exit.id()) {
                Entry::Vacant(free) => {
                    free.insert((number, exits.len()));
                    exits.push(exit);
                }
                Entry::Occupied(taken) => {
                    let (line, at) = *taken.get();
                    if exits[at] != exit {
                        let what = format!("is the exit of line {line} with another password");
                        return Err(
                            ConfigError::new("proxy spec", what, "keep one of the two").at_line(number)
                        );
                    }
                }
            }
        }
        if exits.is_empty() {
            return Err(ConfigError::new(
                "exit list",
                "names no exit",
                "write one proxy spec a line, like host:port",
            ));
        }
        Ok(Self(exits))
    }

    /// Reads a list from a file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), with the file's name; or why the file could not be read.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            ConfigError::new(
                "exit list",
                format!("cannot be read: {error}"),
                "check the path and its permissions",
            )
            .in_file(path)
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            ConfigError::new("exit list", "is not UTF-8", "save the file as UTF-8")
                .at_line(u32::try_from(line).unwrap_or(u32::MAX))
                .in_file(path)
        })?;
        Self::parse(&text).map_err(|error| error.in_file(path))
    }

    /// Sets how TLS to the proxies works, for those of the list that are `https://` ones.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn proxy_tls(self, tls: &super::ProxyTls) -> Self {
        self.into_iter().map(|exit| exit.proxy_tls(tls)).collect()
    }

    /// The exits in the order of the list.
    pub fn iter(&self) -> std::slice::Iter<'_, Exit> {
        self.0.iter()
    }

    /// How many exits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none. A list that was read has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<Exit> for ExitList {
    fn extend<I: IntoIterator<Item = Exit>>(&mut self, exits: I) {
        self.0.extend(exits);
    }
}

impl FromIterator<Exit> for ExitList {
    fn from_iter<I: IntoIterator<Item = Exit>>(exits: I) -> Self {
        Self(exits.into_iter().collect())
    }
}

impl IntoIterator for ExitList {
    type Item = Exit;
    type IntoIter = std::vec::IntoIter<Exit>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ExitList {
    type Item = &'a Exit;
    type IntoIter = std::slice::Iter<'a, Exit>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
