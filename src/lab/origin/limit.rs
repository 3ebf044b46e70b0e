//! A rate limit per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Most addresses with a window of their own; past it, windows that have ended are forgotten, then all.
const MAX_WINDOWS: usize = 65_536;

/// So many requests per address in windows that begin with its first request.
pub(super) struct Limit {
    requests: u32,
    window: Duration,
    open: HashMap<IpAddr, Window>,
}

struct Window {
    since: Instant,
    used: u32,
}

impl Limit {
    pub(super) fn new(requests: u32, window: Duration) -> Self {
        Self { requests, window, open: HashMap::new() }
    }

    /// Takes one request out of the window, or says how long until the next one begins.
    pub(super) fn take(&mut self, peer: IpAddr, now: Instant) -> Result<(), Duration> {
        let length = self.window;
        let age = |window: &Window| now.saturating_duration_since(window.since);
        if self.open.len() >= MAX_WINDOWS && !self.open.contains_key(&peer) {
            self.open.retain(|_, window| age(window) < length);
            if self.open.len() >= MAX_WINDOWS {
                self.open.clear();
            }
        }
        let window = self.open.entry(peer).or_insert(Window { since: now, used: 0 });
        if age(window) >= length {
            *window = Window { since: now, used: 0 };
        }
        if window.used >= self.requests {
            return Err(length.saturating_sub(age(window)));
        }
        window.used += 1;
        Ok(())
    }
}
