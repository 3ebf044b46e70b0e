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
    field: Cow<'static, str>,
    what: Cow<'static, str>,
    cure: Cow<'static, str>,
}

impl ConfigError {
    pub(crate) fn new(
        field: impl Into<Cow<'static, str>>,
        what: impl Into<Cow<'static, str>>,
        cure: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (field, what, cure) = (field.into(), what.into(), cure.into());
        Self(Box::new(Inner { file: None, line: None, field, what, cure }))
    }

    /// The same error, of the value that stands at that place of a larger text.
    #[cfg(feature = "config")]
    pub(crate) fn of_value(mut self, place: String) -> Self {
        if let Some(line) = self.0.line {
            let Inner { field, what, .. } = &*self.0;
            self.0.what = format!("has in line {line}: {field} {what}").into();
        }
        self.0.field = place.into();
        self
    }

    /// The same error, of something in the table at that place of a larger text.
    #[cfg(feature = "config")]
    pub(crate) fn of_table(mut self, place: String) -> Self {
        let Inner { field, what, .. } = &*self.0;
        self.0.what = format!("has a fault: {field} {what}").into();
        self.0.field = place.into();
        self
    }

    /// The same error, of a file that is named at that place of a larger text.
    #[cfg(feature = "config")]
    pub(crate) fn of_file(mut self, place: String) -> Self {
        let Inner { field, what, file, .. } = &*self.0;
        self.0.what = format!("names {}: {field} {what}", file.as_deref().unwrap_or("a file")).into();
        self.0.field = place.into();
        self
    }

    /// The same error, with its cure in other words.
    #[cfg(feature = "config")]
    pub(crate) fn cured(mut self, cure: String) -> Self {
        self.0.cure = cure.into();
        self
    }

    /// What is wrong with the field.
    #[cfg(feature = "config")]
    pub(crate) fn what(&self) -> &str {
        &self.0.what
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
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// What to do about it.
    #[must_use]
    pub fn cure(&self) -> &str {
        &self.0.cure
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
