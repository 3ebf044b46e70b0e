//! Reads a document with what it points to: variables, files, and the names of others.

use super::complaint;
use super::document::Document;
use super::keys;
use super::places::{Places, child};
use super::value::Text;
use crate::error::{ConfigError, shown_path};
use serde::Deserialize as _;
use std::env::VarError;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, Deserializer};

/// Looks up a variable of the environment.
pub(super) type Env<'a> = &'a dyn Fn(&str) -> Result<String, VarError>;

/// Largest file that a document is or points to, in bytes. Lists of proxies have no limit.
const MOST: u64 = 1 << 20;

/// What is needed to read the values of a document.
pub(super) struct Reader<'a> {
    pub(super) places: Places,
    file: Option<&'a Path>,
    /// What relative paths begin at.
    base: &'a Path,
    env: Env<'a>,
    /// What works, but should not stay.
    pub(super) warnings: Vec<ConfigError>,
    /// Lines of lists that are not used.
    pub(super) skipped: Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    /// The document of a text, and what reads its values. Relative paths begin at the file's folder, else at the working
    /// directory.
    pub(super) fn open(
        text: &str,
        file: Option<&'a Path>,
        env: Env<'a>,
    ) -> Result<(Document, Self), ConfigError> {
        let root = DeTable::parse(text).map_err(|error| complaint::syntax(&error, text, file))?;
        let base = file.and_then(Path::parent).unwrap_or_else(|| Path::new(""));
        let places = Places::of(text, root.get_ref());
        let reader = Self { places, file, base, env, warnings: Vec::new(), skipped: Vec::new() };
        let document = Document::deserialize(Deserializer::from(root));
        Ok((document.map_err(|error| complaint::shape(&error, &reader))?, reader))
    }

    pub(super) fn in_file(&self, error: ConfigError) -> ConfigError {
        match self.file {
            Some(file) => error.in_file(file),
            None => error,
        }
    }

    /// What is wrong at a path of the document.
    pub(super) fn wrong(
        &self,
        path: &str,
        what: impl Into<std::borrow::Cow<'static, str>>,
        cure: impl Into<std::borrow::Cow<'static, str>>,
    ) -> ConfigError {
        self.in_file(ConfigError::new(path.to_owned(), what, cure).at_line(self.places.line(path)))
    }

    /// What somebody else found wrong with the value at a path, or with a line of the file that it names.
    pub(super) fn placed(&self, path: &str, error: ConfigError) -> ConfigError {
        let error = in_keys(error);
        let error = match (error.file(), error.line()) {
            // The line to mend is there.
            (Some(_), Some(_)) => return error,
            (Some(_), None) => error.of_file(path.to_owned()),
            (None, _) => error.of_value(path.to_owned()),
        };
        self.in_file(error.at_line(self.places.line(path)))
    }

    /// What somebody else found wrong with a table: at the key that the last word of its field names, or that it says otherwise,
    /// where there is one.
    pub(super) fn placed_in(&self, table: &str, error: ConfigError) -> ConfigError {
        let key = match error.field().rsplit(' ').next().unwrap_or_default() {
            "price" => "price_per_gb",
            "interval" => "min_interval",
            "status" => "statuses",
            "roots_pem" => "roots",
            "identity_pem" => "identity",
            same => same,
        };
        let path = child(table, key);
        if self.places.contains(&path) {
            return self.placed(&path, error);
        }
        let said = keys::of_fault(&format!("{} {}", error.field(), error.what()));
        let mut said = said.iter().map(|key| format!("{table}.{key}"));
        let place = said.find(|path| self.places.contains(path)).unwrap_or_else(|| table.to_owned());
        let line = self.places.line(&place);
        self.in_file(in_keys(error).of_table(place).at_line(line))
    }

    /// A secret stands in the document itself.
    pub(super) fn warn_literal(&mut self, path: &str) {
        let cure = "take it from { env = \"NAME\" } or { file = \"PATH\" }";
        let warning = self.wrong(path, "is a secret in the file", cure);
        self.warnings.push(warning);
    }

    /// A path of the document as the system knows it.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    /// The bytes of a file that is named at a path.
    pub(super) fn bytes(&self, path: &str, file: &str) -> Result<Vec<u8>, ConfigError> {
        let file = self.path(file);
        read(&file).map_err(|error| {
            let what = format!("names {}, which cannot be read: {error}", shown_path(&file));
            self.wrong(path, what, "check the path and its permissions")
        })
    }

    /// A text, wherever it is. It may have lines.
    pub(super) fn text(&self, path: &str, text: &Text) -> Result<String, ConfigError> {
        let found = match text {
            Text::Literal(text) => text.clone(),
            Text::Env(name) => (self.env)(name).map_err(|error| {
                let why = match error {
                    VarError::NotPresent => "is not set",
                    VarError::NotUnicode(_) => "is not UTF-8",
                };
                let what = format!("names the variable {name}, which {why}");
                self.wrong(path, what, "set it where the program is started")
            })?,
            Text::File(file) => String::from_utf8(self.bytes(path, file)?).map_err(|_| {
                let what = format!("names {}, which is not UTF-8", shown_path(&self.path(file)));
                self.wrong(path, what, "save the file as UTF-8")
            })?,
        };
        if found.trim().is_empty() {
            // A secret that is not there would be sent as none, and be refused by the provider.
            let cure = match text {
                Text::Literal(_) => "give it a value, or leave the key out",
                Text::Env(_) => "set it where the program is started",
                Text::File(_) => "write the value into it",
            };
            return Err(self.wrong(path, self.what_of(text, "is empty"), cure));
        }
        Ok(found)
    }

    /// A secret, wherever it is: one line. The line ends that end a file are not a part of it.
    pub(super) fn secret(&self, path: &str, text: &Text) -> Result<String, ConfigError> {
        let mut secret = self.text(path, text)?;
        if matches!(text, Text::File(_)) {
            secret.truncate(secret.trim_end_matches(['\r', '\n']).len());
        }
        if secret.contains(char::is_control) {
            let cure = "write it alone, on one line and without tabs";
            return Err(self.wrong(path, self.what_of(text, "holds a control character"), cure));
        }
        Ok(secret)
    }

    /// What is wrong with a text, with the variable or file that it comes from.
    fn what_of(&self, text: &Text, what: &str) -> String {
        match text {
            Text::Literal(_) => what.to_owned(),
            Text::Env(name) => format!("names the variable {name}, which {what}"),
            Text::File(file) => format!("names {}, which {what}", shown_path(&self.path(file))),
        }
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &self,
        path: &str,
        given: Option<&str>,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some(given) = given else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == given) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Err(self.wrong(path, "is none of the known words", complaint::suggestion(given, &known)))
            }
        }
    }
}

fn in_keys(error: ConfigError) -> ConfigError {
    let cure = keys::cure(error.cure());
    error.cured(cure)
}

/// A file that is not endless.
pub(super) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}
