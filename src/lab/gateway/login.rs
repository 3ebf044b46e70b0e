//! The login that a gateway asks for, with the place of the session token in it.

use crate::lab::proxy::Login as Given;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

const SESSION: &str = "{session}";

/// A login with at most one placeholder.
#[derive(Clone)]
pub(super) struct Login {
    user: Part,
    password: Part,
}

#[derive(Clone)]
struct Part {
    before: String,
    /// What follows the placeholder; `None` if there is none.
    after: Option<String>,
}

/// What a client's login says.
pub(super) enum Found {
    Wrong,
    /// The login is right, and has no place for a token.
    Right,
    Session(String),
}

impl Login {
    pub(super) fn new(user: &str, password: &str) -> Self {
        Self { user: Part::new(user), password: Part::new(password) }
    }

    /// How many placeholders it has.
    pub(super) fn placeholders(&self) -> usize {
        let parts = [&self.user, &self.password];
        parts.iter().flat_map(|part| &part.after).map(|after| 1 + after.matches(SESSION).count()).sum()
    }

    /// `user:password` as in a proxy spec, the placeholder as it stands.
    pub(super) fn in_spec(&self) -> String {
        format!("{}:{}", self.user.in_spec(), self.password.in_spec())
    }

    pub(super) fn read(&self, given: Option<&Given>) -> Found {
        given.and_then(|given| self.find(given)).unwrap_or(Found::Wrong)
    }

    fn find(&self, given: &Given) -> Option<Found> {
        let token = match (self.user.find(&given.user)?, self.password.find(&given.password)?) {
            ("", token) | (token, _) => token,
        };
        let wanted = self.placeholders() > 0;
        match (wanted, token) {
            (false, _) => Some(Found::Right),
            (true, "") => None,
            (true, token) => Some(Found::Session(token.to_owned())),
        }
    }
}

impl Part {
    fn new(text: &str) -> Self {
        match text.split_once(SESSION) {
            Some((before, after)) => Self { before: before.to_owned(), after: Some(after.to_owned()) },
            None => Self { before: text.to_owned(), after: None },
        }
    }

    fn in_spec(&self) -> String {
        let encode = |part| utf8_percent_encode(part, NON_ALPHANUMERIC);
        match &self.after {
            Some(after) => format!("{}{SESSION}{}", encode(&self.before), encode(after)),
            None => encode(&self.before).to_string(),
        }
    }

    /// The token in a text that fits; empty where there is no place for one.
    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = text.strip_prefix(&self.before)?;
        match &self.after {
            Some(after) => rest.strip_suffix(after.as_str()),
            None => Some(rest).filter(|rest| rest.is_empty()),
        }
    }
}
