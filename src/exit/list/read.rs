//! From text to a list.

use super::ExitList;
use super::entry::Entry;
use super::seen::{New, Seen};
use crate::error::{ConfigError, looks_like_proxy};
use crate::exit::{Via, spec};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most exits that a list names when it is read.
const MOST: usize = 1_000_000;
/// Most bytes of a file.
const BYTES_MOST: u64 = 64 << 20;

fn bad(what: impl Into<std::borrow::Cow<'static, str>>, cure: &'static str) -> ConfigError {
    ConfigError::new("exit list", what, cure)
}

impl ExitList {
    /// Reads a list from a text.
    ///
    /// # Errors
    /// That no line of it names an exit, with the first that should have: else such lines are
    /// [skipped](Self::skipped). That it names more than 1,000,000 exits. That its ranges name exits with other passwords again
    /// and again: lines that are skipped for it may meet 1,000,000 known ranges in all, since each takes time and adds nothing.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        lines(text.as_bytes(), &|error| error)
    }

    /// Reads a list from a file of at most 64 MiB.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), with the file's name; that it is larger; or why it could not be read. A name that looks like a
    /// proxy spec is not shown, and if there is no such file, that is the error.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let file = |error: ConfigError| error.in_file(path);
        let opened = File::open(path);
        if opened.is_err() && looks_like_proxy(path) && !path.exists() {
            let cure = "give specs to ExitList::parse, or as a list";
            return Err(file(bad("is no file, and looks like a proxy spec", cure)));
        }
        lines(&bytes(opened).map_err(file)?, &file)
    }

    /// Reads a list to its end from what can be read, like standard input: at most 64 MiB.
    ///
    /// # Errors
    /// As [`from_path`](Self::from_path), without a name.
    pub fn from_reader(reader: impl Read) -> Result<Self, ConfigError> {
        lines(&bytes(Ok(reader))?, &|error| error)
    }
}

fn bytes(reader: io::Result<impl Read>) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    reader
        .and_then(|reader| reader.take(BYTES_MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| bad(format!("cannot be read: {error}"), "check the path and its permissions"))?;
    if bytes.len() as u64 > BYTES_MOST {
        return Err(bad("has more than 64 MiB", "check that it is a list; a range of ports is one line"));
    }
    Ok(bytes)
}

/// `named` puts the file's name to an error.
fn lines(bytes: &[u8], named: &dyn Fn(ConfigError) -> ConfigError) -> Result<ExitList, ConfigError> {
    let (mut list, mut seen) = (ExitList::default(), Seen::default());
    for (number, line) in (1_u32..).zip(bytes.split(|byte| *byte == b'\n')) {
        let at = |error: ConfigError| named(error.at_line(number));
        let entry = match entry(line, number) {
            Ok(Some(entry)) => entry,
            Ok(None) => continue,
            Err(error) => {
                list.skipped.add(at(error));
                continue;
            }
        };
        list.take(&entry, &mut seen, &at);
        if seen.tired() {
            return Err(at(bad(
                "names the same ports with other passwords too often",
                "give each port once",
            )));
        }
        if list.count > MOST {
            return Err(at(bad("names more than 1,000,000 exits", "give fewer: no pool gains by so many")));
        }
    }
    if list.is_empty() {
        let empty = || named(bad("names no exit", "write one proxy spec a line, like host:port"));
        return Err(list.skipped.kept().first().cloned().unwrap_or_else(empty));
    }
    Ok(list)
}

fn entry(line: &[u8], number: u32) -> Result<Option<Entry>, ConfigError> {
    let line = std::str::from_utf8(line).map_err(|_| bad("is not UTF-8", "save the file as UTF-8"))?;
    let Some(spec) = spec::of_line(line) else { return Ok(None) };
    let spec = spec::listed(spec)?;
    if spec.first.route().via() == Via::Local {
        // A list may have been downloaded, and no line of it may make requests leave without a proxy.
        let cure = "add it by Exit::local or Exit::parse, beside the list";
        return Err(bad("names an address of this machine, which is no proxy", cure));
    }
    Ok(Some(Entry::read(spec.first, spec.more, number)))
}

impl ExitList {
    /// Takes of an entry what is new.
    pub(super) fn take(&mut self, entry: &Entry, seen: &mut Seen, at: &dyn Fn(ConfigError) -> ConfigError) {
        let who = entry.first().id_at(0);
        match seen.compare(who, entry, &self.entries) {
            New::All => {
                seen.add(who, entry, self.entries.len());
                self.keep(entry.clone());
            }
            New::Parts(parts, known) => {
                let what = format!("names an exit of line {} again", known.line);
                self.repeated.add(at(ConfigError::new("proxy spec", what, "leave one of the two out")));
                seen.add(who, entry, known.at);
                for part in parts {
                    self.keep(entry.part(part));
                }
            }
            New::OtherPassword(known) => {
                let what = format!("is the exit of line {} with another password", known.line);
                self.skipped.add(at(ConfigError::new("proxy spec", what, "keep one of the two")));
            }
        }
    }

    fn keep(&mut self, entry: Entry) {
        self.count += entry.count();
        self.entries.push(entry);
    }
}
