//! The user's own word on an answer, before the table's.

use crate::exit::ExitId;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::request::Origin;
use crate::scheduler::LeaseHandle;
use http::response::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use std::fmt;
use std::sync::Arc;

/// An answer's head, as a [`Rule`] sees it.
pub struct Answer<'a> {
    parts: &'a Parts,
    handle: &'a LeaseHandle,
    table: Outcome,
}

impl Answer<'_> {
    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.parts.status
    }

    /// The headers, as they came.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// What the client and the layers below put beside the answer.
    #[must_use]
    pub const fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// The site that was asked, as the lease names it.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.handle.origin()
    }

    /// The exit that the answer came through.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.handle.exit()
    }

    /// What the [table](crate::classify) makes of it.
    #[must_use]
    pub const fn table(&self) -> Outcome {
        self.table
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status())
            .field("origin", self.origin())
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// What an answer means at a site, where the status alone does not say it.
///
/// A closure over an [`Answer`] is a rule. It is asked once for each answer's head, on the task that polls the request, and
/// without any lock; it should not block. A panic in it goes to the caller, and gives the lease back without blame.
///
/// What it says counts as if the table had said it. An [`AuthError`](Outcome::AuthError) is the proxy's word on the exit's
/// login, and two of them stop it: over plain `http://` a rule may know that answer of its proxy. In a tunnel the site has
/// answered, so the proxy has let the login in, and none is doubted; what a site says of its own login is
/// [`Fatal`](Outcome::Fatal) or a [block](Outcome::Blocked).
///
/// ```
/// use tower_egress::classify::{Answer, ClassifyLayer};
/// use tower_egress::{Outcome, outcome::BlockedBy};
///
/// // shop.example shows its block page with a 200, and says so in a header.
/// let classify = ClassifyLayer::new().rule(|answer: &Answer<'_>| {
///     let blocked = answer.origin().as_str() == "shop.example" && answer.headers().contains_key("x-robot");
///     blocked.then_some(Outcome::Blocked { by: BlockedBy::Unknown })
/// });
/// # let _ = classify;
/// ```
pub trait Rule: Send + Sync {
    /// The outcome, or `None` to leave it to the next rule and, after the last one, to the table.
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome>;
}

impl<F> Rule for F
where
    F: Fn(&Answer<'_>) -> Option<Outcome> + Send + Sync,
{
    fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        self(answer)
    }
}

/// The rules of a layer, in the order in which they are asked. A clone shares them.
#[derive(Clone, Default)]
pub(super) struct Rules(Option<Arc<[Arc<dyn Rule>]>>);

impl Rules {
    pub(super) fn add(&mut self, rule: Arc<dyn Rule>) {
        let before = self.0.iter().flat_map(|rules| rules.iter().cloned());
        self.0 = Some(before.chain([rule]).collect());
    }

    /// The first opinion on the answer, with the proofs that its head gave. A login that the proxy refuses is its own word
    /// and no site's: no rule is asked.
    pub(super) fn judge(
        &self,
        parts: &Parts,
        handle: &LeaseHandle,
        tunnelled: bool,
        evidence: Evidence,
    ) -> Evidence {
        let Some(rules) = &self.0 else { return evidence };
        if matches!(evidence.outcome, Outcome::AuthError { .. }) {
            return evidence;
        }
        let answer = Answer { parts, handle, table: evidence.outcome };
        match rules.iter().find_map(|rule| rule.outcome(&answer)) {
            Some(outcome) => {
                let hint = Evidence::of(outcome).retry_after.or(evidence.retry_after);
                let told = Evidence { outcome, retry_after: hint, ..evidence };
                match outcome {
                    // The site's own word, where the status might have been the proxy's.
                    Outcome::Ok | Outcome::Blocked { .. } | Outcome::RateLimited { .. } => {
                        told.seen(Seen::Seen)
                    }
                    // Then it was the proxy that answered, and it let nobody in.
                    Outcome::AuthError { .. } if !tunnelled => told.seen(Seen::Unknown).login_accepted(false),
                    _ => told,
                }
            }
            None => evidence,
        }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rules", self.0.as_ref().map_or(0, |rules| rules.len()))
    }
}
