//! A proxy login that does not print.

use super::Via;
use crate::error::ConfigError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use std::fmt;
use std::sync::Arc;

/// A proxy login. Redacted in `Debug`; there is no `Display`.
///
/// Behind a pointer: most exits of a large list have none, and pay for no more. A clone is a reference count.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Arc<Login>);

#[derive(PartialEq, Eq)]
struct Login {
    user: Box<str>,
    password: Box<str>,
    /// `None` for SOCKS, which has no headers and takes a colon in a user name.
    basic: Option<HeaderValue>,
}

/// Most bytes of a user name or password over SOCKS5 (RFC 1929, 2: one byte of length).
const SOCKS_MOST: usize = 255;

impl Credential {
    /// A login by user name and password, either of which may be empty but not both.
    ///
    /// # Errors
    /// RFC 7617 allows no control character in either and no colon in the user name. The message repeats neither.
    pub fn new(user: &str, password: &str) -> Result<Self, ConfigError> {
        no_control(user, password)?;
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
        Ok(Self::from_parts(user, password, Some(basic)))
    }

    /// A login for SOCKS5 (RFC 1929). A colon may stand in the user name; an empty password is sent as one of no bytes. For
    /// SOCKS4 it must be empty: the user name is all that is sent.
    ///
    /// # Errors
    /// A user name of no bytes, and more than 255 in either part. Control characters are refused, as everywhere.
    pub fn socks(user: &str, password: &str) -> Result<Self, ConfigError> {
        no_control(user, password)?;
        if user.is_empty() {
            let cure = "SOCKS has no login without one: give it, or leave the login out";
            return Err(ConfigError::new("user name", "is empty", cure));
        }
        for (field, part) in [("user name", user), ("password", password)] {
            if part.len() > SOCKS_MOST {
                let what = format!("has {} bytes", part.len());
                return Err(ConfigError::new(field, what, "SOCKS carries at most 255; use an HTTP endpoint"));
            }
        }
        Ok(Self::from_parts(user, password, None))
    }

    fn from_parts(user: &str, password: &str, basic: Option<HeaderValue>) -> Self {
        Self(Arc::new(Login { user: user.into(), password: password.into(), basic }))
    }

    /// As the protocol takes it.
    pub(super) fn of(via: Via, user: &str, password: &str) -> Result<Self, ConfigError> {
        match via {
            Via::Socks4 | Via::Socks4a if !password.is_empty() => {
                let cure = "SOCKS4 has a user id alone: leave the password out, or use the proxy's socks5h:// endpoint";
                Err(ConfigError::new("password", "cannot be sent", cure))
            }
            via if via.is_socks() => Self::socks(user, password),
            _ => Self::new(user, password),
        }
    }

    /// The user name; with gateways it often holds the session token, so treat it as a secret.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.0.user
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.0.password
    }

    /// The value of `Proxy-Authorization` for this login, marked sensitive; `None` for SOCKS. It goes to the proxy alone.
    #[must_use]
    pub fn basic(&self) -> Option<&HeaderValue> {
        self.0.basic.as_ref()
    }
}

fn no_control(user: &str, password: &str) -> Result<(), ConfigError> {
    if user.chars().chain(password.chars()).any(char::is_control) {
        return Err(ConfigError::new("login", "holds a control character", "remove it, or its %-escape"));
    }
    Ok(())
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(***)")
    }
}
