//! Rules made of rules.

use super::{Answer, Rule};
use crate::outcome::Outcome;
use std::ops::RangeBounds;

/// The first of two that has an opinion.
pub(super) struct Or<A, B>(pub(super) A, pub(super) B);

impl<A: Rule, B: Rule> Rule for Or<A, B> {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self.0.outcome(answer).or_else(|| self.1.outcome(answer))
    }

    fn wants_body(&self, answer: &Answer<'_>) -> bool {
        self.0.wants_body(answer) || self.1.wants_body(answer)
    }
}

/// At one origin, or at those below one.
pub(super) struct At<R> {
    rule: R,
    origin: String,
}

impl<R> At<R> {
    pub(super) fn new(rule: R, origin: &str) -> Self {
        Self { rule, origin: origin.to_ascii_lowercase() }
    }

    fn covers(&self, origin: &str) -> bool {
        match self.origin.strip_prefix('*') {
            Some(below) => origin.split(':').next().unwrap_or_default().ends_with(below),
            None => origin == self.origin,
        }
    }
}

impl<R: Rule> Rule for At<R> {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self.covers(answer.origin().as_str()).then(|| self.rule.outcome(answer)).flatten()
    }

    fn wants_body(&self, answer: &Answer<'_>) -> bool {
        self.covers(answer.origin().as_str()) && self.rule.wants_body(answer)
    }
}

/// With some statuses.
pub(super) struct On<R, S>(pub(super) R, pub(super) S);

impl<R: Rule, S: RangeBounds<u16> + Send + Sync> Rule for On<R, S> {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self.1.contains(&answer.status().as_u16()).then(|| self.0.outcome(answer)).flatten()
    }

    fn wants_body(&self, answer: &Answer<'_>) -> bool {
        self.1.contains(&answer.status().as_u16()) && self.0.wants_body(answer)
    }
}

/// With the body.
pub(super) struct WithBody<R>(pub(super) R);

impl<R: Rule> Rule for WithBody<R> {
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self.0.outcome(answer)
    }

    fn wants_body(&self, _: &Answer<'_>) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::At;

    #[test]
    fn a_rule_holds_at_its_origin_and_at_no_other() {
        let covers = |known, origin| At::new((), known).covers(origin);
        assert!(covers("Shop.example", "shop.example") && covers("shop.example:8443", "shop.example:8443"));
        assert!(!covers("shop.example", "www.shop.example") && !covers("shop.example", "shop.example:8443"));
        assert!(covers("*.shop.example", "a.b.shop.example:8443"));
        assert!(!covers("*.shop.example", "xshop.example") && !covers("*.shop.example", "shop.example"));
        assert!(covers("*", "any.example"));
    }
}
