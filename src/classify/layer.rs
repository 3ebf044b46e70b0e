//! The layer: its limits and rules.

use super::Classify;
use super::rule::{Rule, Rules};
use std::sync::Arc;
use std::time::Duration;
use tower::Layer;

/// Names outcomes; see the [module](crate::classify). It needs no scheduler: it reports through the lease in the request.
///
/// Differs from a timeout layer in that its timeouts are evidence: the exit that did not answer is charged, and the retry
/// layer goes on through another.
#[derive(Clone, Debug)]
pub struct ClassifyLayer {
    terms: Terms,
}

/// What holds for every attempt.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) limits: Limits,
    pub(super) rules: Rules,
    pub(super) pages: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempt: Duration,
    pub(super) body_idle: Duration,
    pub(super) collect: Option<u64>,
}

impl ClassifyLayer {
    /// With 30 s to an answer's head, and 30 s between two frames of its body.
    #[must_use]
    pub fn new() -> Self {
        Self { terms: Terms { limits: Limits::default(), rules: Rules::default(), pages: true } }
    }

    /// Sets how long one attempt may take to the answer's head. [`Duration::MAX`] is no limit.
    #[must_use]
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.terms.limits.attempt = limit;
        self
    }

    /// Sets how long a reader waits for the next frame of a body. Time in which nobody reads does not count.
    #[must_use]
    pub fn body_idle_timeout(mut self, limit: Duration) -> Self {
        self.terms.limits.body_idle = limit;
        self
    }

    /// Reads the whole body of a good answer before it answers, within the attempt: a body that breaks off, or falls silent
    /// for the [idle timeout](Self::body_idle_timeout), is then a failed attempt, which the retry layer repeats through
    /// another exit if the request's method and body allow it. The answer's body is in memory, trailers included, and its
    /// exit is free again. Without this a body comes as it is read, and what breaks is for the reader to ask for again.
    ///
    /// No body may be longer than `max` bytes: one that is ends the request with [`Outcome::TooLarge`](crate::Outcome::TooLarge),
    /// at once where its length is known before. That charges nobody and is not sent again. Where a decompression layer
    /// stands below this one, decoded bytes are counted, and a compressed bomb costs the cap and no more. A refusal's page (any
    /// outcome that is not ok, of a [rule](Self::rule) or the table) is not collected but comes as it is read, and reading it
    /// ends with an error at the cap.
    ///
    /// The [attempt's time](Self::attempt_timeout) ends at the head. From there on a body may take as long as it moves,
    /// within the request's [deadline](crate::LeaseRequest::deadline), which then covers the body too.
    #[must_use]
    pub fn collect(mut self, max: usize) -> Self {
        self.terms.limits.collect = Some(max as u64);
        self
    }

    /// Sets whether the [signals of known walls](crate::classify#walls) are looked for: their headers, and in pages that may be
    /// theirs their marks. Without them the status alone counts, and no answer waits for its page to be searched. Default true.
    #[must_use]
    pub fn pages(mut self, searched: bool) -> Self {
        self.terms.pages = searched;
        self
    }

    /// Adds a [rule](crate::classify::rule) of your own. Rules are asked in the order in which they were added, before the
    /// [table](crate::classify); the first opinion counts.
    #[must_use]
    pub fn rule(mut self, rule: impl Rule + 'static) -> Self {
        self.terms.rules.add(Arc::new(rule));
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        let half_a_minute = Duration::from_secs(30);
        Self { attempt: half_a_minute, body_idle: half_a_minute, collect: None }
    }
}

impl Default for ClassifyLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ClassifyLayer {
    type Service = Classify<S>;

    fn layer(&self, inner: S) -> Classify<S> {
        Classify::new(inner, self.terms.clone())
    }
}
