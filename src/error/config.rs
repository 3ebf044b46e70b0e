//! What is wrong with a configuration, where, and the cure.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// A configuration that cannot be used: names the field, what is wrong with it, and the cure; with the file and line where
/// there is one. It never repeats a value that may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    file: Option<String>,
    line: Option<u32>,
    field: &'static str,
    what: Cow<'static, str>,
    cure: &'static str,
}

impl ConfigError {
    pub(crate) fn new(field: &'static str, what: impl Into<Cow<'static, str>>, cure: &'static str) -> Self {
        Self(Box::new(Inner { file: None, line: None, field, what: what.into(), cure }))
    }

    pub(crate) fn at_line(mut self, line: u32) -> Self {
        self.0.line = Some(line);
        self
    }

    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        self.0.file = Some(file.display().to_string());
        self
    }

    /// The file it was read from.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The line in the text or file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.0.line
    }

    /// The field that is wrong.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.0.field
    }

    /// What to do about it.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        self.0.cure
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { file, line, field, what, cure } = &*self.0;
        match (file, line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        write!(f, "{field} {what}; {cure}")
    }
}

/// The sentence: it is what a `main` that returns the error prints.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}
