//! Origins: scripted sites that record who asked for what.

mod limit;
mod script;
mod serve;

pub(super) use serve::{Offers, serve_plain, serve_tls};

use super::clock;
use super::lock::Lock;
use super::record::Record;
use super::seen::{Arrival, SeenRequest};
use super::{MAX_RECORD, PeerCounts, Reply};
use limit::Limit;
use script::{Cue, Script};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A site of the lab: a script that says who gets which answer, and a record of every request. A clone is a handle on the
/// same site, and everything can be changed while requests run.
///
/// Unless told otherwise it answers 200 with a small page to any path. A ban comes first, then the rate limit, then the
/// page of the path, then the closure. Request bodies are read to their end before the answer.
#[derive(Clone)]
pub struct Origin(Arc<Inner>);

struct Inner {
    host: Box<str>,
    started: Instant,
    script: Lock<Script>,
    record: Lock<Record>,
    http1_only: AtomicBool,
    /// Tells who is connected to go.
    leave: Notify,
}

impl Origin {
    pub(super) fn new(host: &str) -> Self {
        let started = clock::now();
        Self(Arc::new(Inner {
            host: host.into(),
            started,
            script: Lock::default(),
            record: Lock::default(),
            http1_only: AtomicBool::new(false),
            leave: Notify::new(),
        }))
    }

    /// The site's name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Sets whether HTTP/2 is offered by ALPN, before HTTP/1.1, to who connects from now on through TLS. Default yes. Without
    /// TLS there is HTTP/1.1 alone; in memory there is neither.
    pub fn http2(&self, offered: bool) {
        self.0.http1_only.store(!offered, Ordering::Relaxed);
    }

    /// Asks who is connected now to go: exchanges under way end as they should, and nothing new is begun. Over HTTP/2 with a
    /// GOAWAY, over HTTP/1.1 with `Connection: close` in the answer that is due, or by closing a connection that is idle.
    pub fn go_away(&self) {
        self.0.leave.notify_waiters();
    }

    /// Answers 403 to everything from this address, whatever it asks for.
    pub fn ban(&self, peer: IpAddr) {
        self.0.script.lock().banned.insert(peer);
    }

    /// Takes a ban back.
    pub fn pardon(&self, peer: IpAddr) {
        self.0.script.lock().banned.remove(&peer);
    }

    /// Serves each address `requests` times per `window`, which begins with its first request. What is more gets 429 with
    /// the rest of the window as `Retry-After`, in whole seconds, rounded up. Banned requests do not count.
    pub fn limit(&self, requests: u32, window: Duration) {
        self.0.script.lock().limit = Some(Limit::new(requests, window));
    }

    /// Takes the rate limit away.
    pub fn unlimit(&self) {
        self.0.script.lock().limit = None;
    }

    /// Sets the answer to a path, given with its query if it has one.
    pub fn page(&self, path: impl Into<String>, reply: Reply) {
        self.0.script.lock().pages.insert(path.into(), reply);
    }

    /// Sets who answers where no page was set.
    pub fn respond(&self, respond: impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static) {
        self.0.script.lock().respond = Some(Arc::new(respond));
    }

    /// The requests in the order of arrival; the first [`MAX_RECORD`] of them.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.0.record.lock().log()
    }

    /// How many requests arrived, those included that the record has no place for.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.record.lock().requests()
    }

    /// How many requests arrived that the record had no place for.
    #[must_use]
    pub fn unrecorded(&self) -> u64 {
        self.requests().saturating_sub(MAX_RECORD as u64)
    }

    /// How many connections were accepted. In memory there are none.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.0.record.lock().connections()
    }

    /// Who came, and how often: connections count even if no request followed. Keeps the first 65,536 addresses.
    #[must_use]
    pub fn peers(&self) -> BTreeMap<IpAddr, PeerCounts> {
        self.0.record.lock().peers()
    }

    /// Records a request.
    pub(super) fn see(&self, arrival: Arrival) -> SeenRequest {
        let at = clock::now().saturating_duration_since(self.0.started);
        self.0.record.lock().request(arrival, at)
    }

    /// The answer to a recorded request. The closure runs under no lock, so that it may change the script.
    pub(super) fn answer(&self, seen: &SeenRequest) -> Reply {
        let cue = self.0.script.lock().cue(seen, clock::now());
        match cue {
            Cue::Reply(reply) => reply,
            Cue::Ask(respond) => respond(seen),
        }
    }

    fn count_connection(&self, peer: IpAddr) {
        self.0.record.lock().connection(peer);
    }

    fn count_resumed(&self, peer: IpAddr) {
        self.0.record.lock().resumed(peer);
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("host", &self.0.host)
            .field("requests", &self.requests())
            .finish_non_exhaustive()
    }
}
