//! A proxy login that does not print.

use crate::error::ConfigError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use std::fmt;

/// A proxy login. Redacted in `Debug`; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    user: Box<str>,
    password: Box<str>,
    basic: HeaderValue,
}

impl Credential {
    /// A login by user name and password, either of which may be empty but not both.
    ///
    /// # Errors
    /// RFC 7617 allows no control character in either and no colon in the user name. The message repeats neither.
    pub fn new(user: &str, password: &str) -> Result<Self, ConfigError> {
        if user.chars().chain(password.chars()).any(char::is_control) {
            return Err(ConfigError::new("login", "holds a control character", "remove it, or its %-escape"));
        }
        if user.contains(':') {
            return Err(ConfigError::new(
                "user name",
                "holds a colon",
                "a Basic login cannot carry one there",
            ));
        }
        if user.is_empty() && password.is_empty() {
            return Err(ConfigError::new("login", "is empty", "leave the login out, or give a user name"));
        }
        let basic = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let mut basic = HeaderValue::try_from(basic)
            .map_err(|_| ConfigError::new("login", "does not fit a header", "shorten it"))?;
        basic.set_sensitive(true);
        Ok(Self { user: user.into(), password: password.into(), basic })
    }

    /// The user name; with gateways it often holds the session token, so treat it as a secret.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The value of `Proxy-Authorization` for this login, marked sensitive. It goes to the proxy alone.
    #[must_use]
    pub const fn basic(&self) -> &HeaderValue {
        &self.basic
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(***)")
    }
}
