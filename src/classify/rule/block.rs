//! Rules to build with.

use super::{Answer, Rule};
use crate::outcome::Outcome;
use http::HeaderName;
use memchr::memmem;

/// A rule: an answer that carries this header, whatever it says, is this outcome.
#[must_use]
pub fn header(name: HeaderName, outcome: Outcome) -> impl Rule {
    Header { name, outcome }
}

/// A rule: an answer whose [first 16 KiB](Answer::body) hold this text, byte for byte, is this outcome.
///
/// The start of every body is read for it unless the rule is for some [statuses](Rule::statuses) or [a site](Rule::at).
#[must_use]
pub fn mark(text: &str, outcome: Outcome) -> impl Rule + use<> {
    Mark { text: memmem::Finder::new(text).into_owned(), outcome }
}

struct Header {
    name: HeaderName,
    outcome: Outcome,
}

impl Rule for Header {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        answer.headers().contains_key(&self.name).then_some(self.outcome)
    }
}

struct Mark {
    text: memmem::Finder<'static>,
    outcome: Outcome,
}

impl Rule for Mark {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self.text.find(answer.body()?).map(|_| self.outcome)
    }

    fn wants_body(&self, _: &Answer<'_>) -> bool {
        true
    }
}
