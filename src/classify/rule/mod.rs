//! Rules: your own word on an answer, before the table's.
//!
//! A [`Rule`] is asked for an opinion, and [`None`] leaves the answer to the next one. Write it as a closure over an
//! [`Answer`], as a type that implements [`Rule`], or from the blocks here: [`header`] and [`mark`], narrowed down by
//! [`at`](Rule::at) a site and by [`statuses`](Rule::statuses), joined by [`or`](Rule::or).
//!
//! ```
//! use http::HeaderName;
//! use tower_egress::classify::{Answer, ClassifyLayer, Rule, rule};
//! use tower_egress::{Outcome, outcome::BlockedBy};
//!
//! const ROBOT: HeaderName = HeaderName::from_static("x-robot");
//! let blocked = Outcome::Blocked { by: BlockedBy::Exit };
//! let shop = rule::header(ROBOT, blocked)
//!     .or(rule::mark("Are you human?", blocked).statuses(200..=200))
//!     .at("*.shop.example");
//! // A page of theirs that is nearly empty is none. The body is read where the rule wants it, and nowhere else.
//! let empty = move |answer: &Answer<'_>| {
//!     let page = answer.body()?;
//!     (answer.is_whole() && page.len() < 100).then_some(blocked)
//! };
//! let classify = ClassifyLayer::new().rule(shop).rule(empty.with_body().statuses(200..=200).at("news.example"));
//! # let _ = classify;
//! ```
//!
//! A good rule has two proofs: a status and a mark, or a header and a site. What a page says alone, a form of the site may
//! say as well, and each page that is taken for a block is paid for again. Rules see what the site sent: what only parsing
//! shows, [`Served::report`](crate::Served::report) says later.

mod block;
mod join;

pub use block::{header, mark};

use super::pages::Page;
use crate::exit::ExitId;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::request::Origin;
use crate::scheduler::LeaseHandle;
use http::response::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// An answer, as a [`Rule`] sees it: its head, and the start of its body where that is wanted.
pub struct Answer<'a> {
    parts: &'a Parts,
    handle: &'a LeaseHandle,
    table: Outcome,
    page: Option<Page<'a>>,
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

    /// What the [table](crate::classify) makes of it; where the body was read, with what that says.
    #[must_use]
    pub const fn table(&self) -> Outcome {
        self.table
    }

    /// The first 16 KiB of the body at most, unpacked (gzip, deflate), if a rule [wanted](Rule::wants_body) it: what has come
    /// within 100 ms of the head. `None` if none did, or it is packed in another way.
    #[must_use]
    pub fn body(&self) -> Option<&[u8]> {
        self.page.map(|page| page.text)
    }

    /// Whether [`body`](Self::body) is all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.page.is_some_and(|page| page.whole)
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
/// A closure over an [`Answer`] is a rule. It is asked once for each answer, on the task that polls the request, and
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

    /// Whether the rule is to be asked with the first 16 KiB of the [body](Answer::body). The answer is kept back until they
    /// are there, the body has ended, or 100 ms have passed: say yes where it matters, and not for every page. Default no.
    fn wants_body(&self, answer: &Answer<'_>) -> bool {
        let _ = answer;
        false
    }

    /// This rule, and where it has no opinion the next one.
    #[must_use]
    fn or(self, next: impl Rule) -> impl Rule
    where
        Self: Sized,
    {
        join::Or(self, next)
    }

    /// The rule at this origin alone: a host, with its port if that is not the scheme's own. `*.shop.example` is every host
    /// below `shop.example`.
    #[must_use]
    fn at(self, origin: &str) -> impl Rule + use<Self>
    where
        Self: Sized,
    {
        join::At::new(self, origin)
    }

    /// The rule for answers with these statuses alone: `200..=200`, `400..`.
    #[must_use]
    fn statuses(self, statuses: impl RangeBounds<u16> + Send + Sync) -> impl Rule
    where
        Self: Sized,
    {
        join::On(self, statuses)
    }

    /// The rule with the body, for a closure, which cannot [ask](Self::wants_body) for it.
    #[must_use]
    fn with_body(self) -> impl Rule
    where
        Self: Sized,
    {
        join::WithBody(self)
    }
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

/// What rules have said.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opinion {
    None,
    Said(Outcome),
    /// The rule at this place wants the body.
    Wants(usize),
}

impl Rules {
    pub(super) fn add(&mut self, rule: Arc<dyn Rule>) {
        let before = self.0.iter().flat_map(|rules| rules.iter().cloned());
        self.0 = Some(before.chain([rule]).collect());
    }

    /// The first opinion on an answer's head.
    pub(super) fn of_head(&self, parts: &Parts, handle: &LeaseHandle, table: Outcome) -> Opinion {
        let Some(rules) = &self.0 else { return Opinion::None };
        // A login that the proxy refuses is its own word and no site's.
        if matches!(table, Outcome::AuthError { .. }) {
            return Opinion::None;
        }
        let answer = Answer { parts, handle, table, page: None };
        for (at, rule) in rules.iter().enumerate() {
            if rule.wants_body(&answer) {
                return Opinion::Wants(at);
            }
            if let Some(outcome) = rule.outcome(&answer) {
                return Opinion::Said(outcome);
            }
        }
        Opinion::None
    }

    /// The first opinion of those who have not been asked yet.
    pub(super) fn of_page(
        &self,
        from: usize,
        parts: &Parts,
        handle: &LeaseHandle,
        table: Outcome,
        page: Option<Page<'_>>,
    ) -> Option<Outcome> {
        let answer = Answer { parts, handle, table, page };
        self.0.iter().flat_map(|rules| &rules[from..]).find_map(|rule| rule.outcome(&answer))
    }
}

/// What a rule has said, with the proofs that the head gave.
pub(super) fn said(outcome: Outcome, tunnelled: bool, evidence: Evidence) -> Evidence {
    let hint = Evidence::of(outcome).retry_after.or(evidence.retry_after);
    let told = Evidence { outcome, retry_after: hint, ..evidence };
    match outcome {
        // The site's own word, where the status might have been the proxy's.
        Outcome::Ok | Outcome::Blocked { .. } | Outcome::RateLimited { .. } => told.seen(Seen::Seen),
        // Then it was the proxy that answered, and it let nobody in; unless the site forges what the rule goes by.
        Outcome::AuthError { .. } if !tunnelled => {
            told.seen(Seen::Unknown).login_accepted(false).hearsay(true)
        }
        Outcome::GatewayOverloaded { .. } if !tunnelled => told.hearsay(true),
        _ => told,
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rules", self.0.as_ref().map_or(0, |rules| rules.len()))
    }
}
