//! What an answer shows: its head, then perhaps its page, said once.

use super::gateway;
use super::layer::Terms;
use super::pages::{Page, Reach};
use super::peek::{First, MAX_WAIT, look_at};
use super::rule::{self, Opinion, Rules};
use super::status::{self, Carried, Here, Told};
use crate::outcome::{Connection, Evidence};
use crate::scheduler::LeaseHandle;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http_body::Body;
use std::time::{Duration, SystemTime};

/// What an answer shows so far. Dropped before that was reported, it is reported.
pub(super) struct Judged {
    handle: LeaseHandle,
    told: Told,
    tunnelled: bool,
    /// The rules from this place on want the body first.
    asks: Option<(Rules, usize)>,
    reported: bool,
}

impl Judged {
    /// By the head alone. What counts the bytes to come is noted with it.
    pub(super) fn of_head(parts: &Parts, handle: &LeaseHandle, tunnelled: bool, terms: &Terms) -> Self {
        // A client that does not say what it used was at least told to use a connection of its own.
        let over = parts.extensions.get::<Connection>();
        let kept = over.map_or_else(|| !handle.route().is_fresh(), Connection::is_kept);
        let tunnelled = tunnelled || over.is_some_and(Connection::is_tunnelled);
        // The clock is read for a date alone.
        let dated = matches!(parts.status.as_u16(), 429 | 503) || parts.headers.contains_key(RETRY_AFTER);
        let now = if dated { handle.wall_now() } else { SystemTime::UNIX_EPOCH };
        let site = handle.site();
        let here = Here { site: site.as_deref(), pages: terms.pages };
        let (vendor, phrase) = (handle.route().vendor(), gateway::phrase(&parts.extensions));
        let carried = Carried { tunnelled, kept, vendor, phrase };
        let mut told = status::head(parts.status, &parts.headers, carried, here, now);
        let mut asks = None;
        match terms.rules.of_head(parts, handle, told.evidence.outcome) {
            Opinion::None => {}
            Opinion::Said(outcome) => {
                told = Told { evidence: rule::said(outcome, tunnelled, told.evidence), reach: Reach::No };
            }
            Opinion::Wants(from) => asks = Some((terms.rules.clone(), from)),
        }
        if let Some(traffic) = over.and_then(Connection::traffic) {
            handle.count(traffic.clone());
        }
        if let Some(egress) = gateway::egress(vendor, &parts.headers, over, tunnelled) {
            handle.reveal(&egress);
        }
        Self { handle: handle.clone(), told, tunnelled, asks, reported: false }
    }

    /// How long the answer may be kept back for what its page shows; `None` if that is known.
    pub(super) fn wait(&mut self, parts: &Parts, body: &impl Body) -> Option<Duration> {
        if body.is_end_stream() {
            self.see(parts, Some(Page { text: &[], whole: true }));
            return None;
        }
        if self.asks.is_some() {
            return Some(MAX_WAIT);
        }
        self.told.reach.wait(parts.status, &parts.headers)
    }

    /// By the page, unless that is known, or has been reported.
    pub(super) fn see(&mut self, parts: &Parts, page: Option<Page<'_>>) {
        if self.reported {
            return;
        }
        if let Some(page) = page {
            self.told.evidence = status::with_page(self.told, parts.status, &parts.headers, page);
            // What is not whole may show its size yet.
            if page.whole {
                self.told.reach = Reach::No;
            }
        }
        let Some((rules, from)) = self.asks.take() else { return };
        // A rule that panics blames nobody.
        self.reported = true;
        let outcome = self.told.evidence.outcome;
        if let Some(outcome) = rules.of_page(from, parts, &self.handle, outcome, page) {
            self.told.evidence = rule::said(outcome, self.tunnelled, self.told.evidence);
            self.told.reach = Reach::No;
        }
        self.reported = false;
    }

    /// By a good answer that was collected, where its page had not come in time or was not waited for. Amends the report.
    pub(super) fn see_whole(&mut self, parts: &Parts, whole: &First) {
        let before = self.told.evidence;
        if !before.outcome.is_ok() || self.told.reach.wait(parts.status, &parts.headers).is_none() {
            return;
        }
        let evidence = look_at(whole, true, &parts.headers, |page| {
            page.map_or(before, |page| status::with_page(self.told, parts.status, &parts.headers, page))
        });
        if evidence != before {
            self.told.evidence = evidence;
            self.handle.report(evidence);
        }
    }

    /// Reports it, if that was not done.
    pub(super) fn report(&mut self) -> Evidence {
        let evidence = self.told.evidence;
        if !std::mem::replace(&mut self.reported, true) {
            self.handle.report(evidence);
        }
        evidence
    }

    /// The same, reported, for where it is needed longer.
    pub(super) fn take(&mut self) -> Self {
        let (handle, told, tunnelled) = (self.handle.clone(), self.told, self.tunnelled);
        Self { handle, told, tunnelled, asks: None, reported: true }
    }
}

impl Drop for Judged {
    /// Whoever went away while the page was read has had an answer. What was said of the attempt meanwhile stands.
    fn drop(&mut self) {
        if !self.reported && self.handle.evidence().is_none() {
            self.handle.report(self.told.evidence);
        }
    }
}
