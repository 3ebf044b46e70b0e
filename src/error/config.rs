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
        self.0.file = Some(shown_path(file));
        self
    }

    /// The file it was read from; `(a name that looks like a proxy)` for a name with an `@`, a `://` or several colons, since a
    /// spec that was given for a path would show its login.
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

/// A path as messages show it: one that looks like a proxy spec may hold a password, and is not shown.
pub(crate) fn shown_path(path: &Path) -> String {
    if looks_like_proxy(path) {
        return "(a name that looks like a proxy)".into();
    }
    path.display().to_string()
}

/// Whether a path may be a proxy spec with a login: it has an `@`, a `://`, two colons, that of a Windows drive aside, or four
/// parts one of which is a number, as in `host,port,user,password`.
pub(crate) fn looks_like_proxy(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let after_drive = match path.as_bytes() {
        [drive, b':', b'\\' | b'/', after @ ..]
            if drive.is_ascii_alphabetic() && !after.starts_with(b"/") =>
        {
            after
        }
        all => all,
    };
    let colons = after_drive.iter().filter(|byte| **byte == b':').count();
    let parts = || path.split([':', '|', ',', ';', ' ', '\t']);
    let columns = parts().count() > 3 && parts().any(|part| part.parse::<u16>().is_ok());
    path.contains('@') || path.contains("://") || colons > 1 || columns
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_that_stands_for_a_path_is_not_shown() {
        for spec in [
            "user:S3CRET@gw.test:8080",
            "http://S3CRET:S3CRET@gw.test:1",
            "gw.test:8080:user:S3CRET",
            "/etc/fleet/gw.test:8080:user:S3CRET",
            "h:1:S3CRET",
            "C:/S3CRET:8080:x",
            "http://gw.test/S3CRET",
            "c://S3CRET",
            "gw.test:8080|user|S3CRET",
            "gw.test,8080,user,S3CRET",
            "gw.test 8080 user S3CRET",
        ] {
            let error =
                ConfigError::new("exit list", "is bad", "mend it").in_file(Path::new(spec)).at_line(2);
            let told = format!("{error} {error:?} {:?}", error.file());
            assert!(!told.contains("S3CRET"), "{told}");
            assert!(told.starts_with("(a name that looks like a proxy):2: exit list is bad"), "{told}");
        }
        for path in [
            "proxies.txt",
            "/etc/fleet/proxies.txt",
            "gw.test:8080",
            r"C:\fleet\a:b.txt",
            "C:/fleet/p.txt",
            "My list of proxies.txt",
        ] {
            assert_eq!(shown_path(Path::new(path)), path);
        }
    }
}
