//! Idle connections, each under the exit and origin it belongs to.
//!
//! Bounded in number and age over all keys. One task closes what has idled too long; it exists only while something idles.

use super::closers::Closers;
use super::connection::Connection;
use crate::exit::{ExitId, Route};
use http::uri::Authority;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

#[expect(
    clippy::disallowed_types,
    reason = "guards this pool alone: one short lock at checkout and one at check-in"
)]
type Mutex<T> = std::sync::Mutex<T>;

/// A connection that ends sooner than this after its answer was not closed for idling.
const EARLY: Duration = Duration::from_secs(2);

/// What a connection may be used for again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) exit: ExitId,
    pub(super) https: bool,
    pub(super) authority: Authority,
}

/// The idle connections of a client.
pub(super) struct Idle {
    timeout: Duration,
    max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the order of their check-in: the first is the oldest and the next to expire.
    entries: BTreeMap<u64, Entry>,
    /// The numbers of a key's entries, oldest first; never an empty queue.
    by_key: HashMap<Key, VecDeque<u64>>,
    next: u64,
    closers: Closers,
    reaper: Option<AbortHandle>,
}

struct Entry {
    key: Key,
    route: Route,
    connection: Connection,
    since: Instant,
}

/// A connection that was kept, and since when.
pub(super) struct Kept {
    pub(super) connection: Connection,
    pub(super) since: Instant,
}

impl Idle {
    pub(super) fn new(timeout: Duration, max: usize) -> Self {
        Self { timeout, max, state: Mutex::default() }
    }

    /// The newest connection that was opened by this very route, login included: with another password the exit may be
    /// another session, or no longer ours. It is alive as far as this machine knows.
    pub(super) async fn checkout(&self, key: &Key, route: &Route) -> Option<Kept> {
        // Each turn takes one out.
        loop {
            let Entry { connection, since, .. } = self.take(key, route)?;
            if let Some(connection) = connection.alive().await {
                return Some(Kept { connection, since });
            }
            self.died(key, since);
        }
    }

    fn take(&self, key: &Key, route: &Route) -> Option<Entry> {
        // Dropped after the lock.
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.expire(now, self.timeout, &mut gone);
        let found = state.take(key, route, &mut gone);
        for entry in gone.iter().filter(|entry| entry.connection.is_closed()) {
            state.died(&entry.key, entry.since, now);
        }
        drop(state);
        found
    }

    /// A kept connection turned out to be dead. One that a proxy closed right after an answer tells of the next.
    pub(super) fn died(&self, key: &Key, since: Instant) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).died(key, since, now());
    }

    /// Keeps a connection whose answer has been read, unless its exit is known to close them.
    pub(super) fn check_in(self: &Arc<Self>, key: Key, route: Route, connection: Connection) {
        if connection.is_closed() || self.max == 0 || self.timeout.is_zero() {
            return;
        }
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !key.https && state.closers.contains(key.exit, now) {
            return;
        }
        state.expire(now, self.timeout, &mut gone);
        while state.entries.len() >= self.max {
            gone.extend(state.pop_oldest());
        }
        state.insert(Entry { key, route, connection, since: now });
        if state.reaper.as_ref().is_none_or(AbortHandle::is_finished) {
            // Outside a runtime there is nobody to wait: the next checkout sweeps.
            let reap = |runtime: Handle| runtime.spawn(reap(Arc::downgrade(self))).abort_handle();
            state.reaper = Handle::try_current().ok().map(reap);
        }
        drop(state);
    }

    /// Closes what has expired; how long until the next may, or `None` if nothing is left and the reaper is to end.
    fn sweep(&self) -> Option<Duration> {
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.expire(now, self.timeout, &mut gone);
        let oldest = state.entries.first_key_value().map(|(_, entry)| now.duration_since(entry.since));
        if oldest.is_none() {
            state.reaper = None;
        }
        drop(state);
        oldest.map(|age| self.timeout.saturating_sub(age))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaper) = state.reaper.take() {
            reaper.abort();
        }
    }
}

impl State {
    fn insert(&mut self, entry: Entry) {
        let number = self.next;
        self.next += 1;
        self.by_key.entry(entry.key.clone()).or_default().push_back(number);
        self.entries.insert(number, entry);
    }

    /// Takes the newest entry of the key that is ready, else the newest that will be. Drops what is of no use on the way.
    fn take(&mut self, key: &Key, route: &Route, gone: &mut Vec<Entry>) -> Option<Entry> {
        let numbers = self.by_key.get_mut(key)?;
        let mut found = None;
        for at in (0..numbers.len()).rev() {
            let Some(entry) = self.entries.get(&numbers[at]) else { continue };
            if entry.connection.is_closed() || entry.route != *route {
                gone.extend(self.entries.remove(&numbers[at]));
                numbers.remove(at);
                // What was found lies further back in the queue.
                found = found.map(|at: usize| at - 1);
            } else if entry.connection.is_ready() {
                found = Some(at);
                break;
            } else if found.is_none() {
                found = Some(at);
            }
        }
        let number = found.and_then(|at| numbers.remove(at));
        if numbers.is_empty() {
            self.by_key.remove(key);
        }
        self.entries.remove(&number?)
    }

    /// Tunnels end at the origin, and say nothing about how the exit treats a client of its own.
    fn died(&mut self, key: &Key, since: Instant, now: Instant) {
        if !key.https && now.duration_since(since) < EARLY {
            self.closers.mark(key.exit, now);
        }
    }

    fn expire(&mut self, now: Instant, timeout: Duration, gone: &mut Vec<Entry>) {
        while let Some((_, oldest)) = self.entries.first_key_value() {
            if now.duration_since(oldest.since) < timeout {
                return;
            }
            gone.extend(self.pop_oldest());
        }
    }

    fn pop_oldest(&mut self) -> Option<Entry> {
        let (_, entry) = self.entries.pop_first()?;
        if let Some(numbers) = self.by_key.get_mut(&entry.key) {
            numbers.pop_front();
            if numbers.is_empty() {
                self.by_key.remove(&entry.key);
            }
        }
        Some(entry)
    }
}

/// Closes connections as they expire. Ends when nothing idles, and with the client.
async fn reap(idle: Weak<Idle>) {
    while let Some(wait) = idle.upgrade().and_then(|idle| idle.sweep()) {
        sleep(wait).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "idle ages are no decision; nothing else here reads a clock")]
fn now() -> Instant {
    Instant::now()
}
