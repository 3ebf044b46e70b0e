//! How a gateway, or one of its sessions, behaves for a while.

use crate::lab::Reply;
use crate::lab::proxy::login_refused;
use std::time::Duration;

/// How a gateway, or one of its sessions, behaves until told otherwise. It holds for CONNECTs and forwarded requests alike.
///
/// ```
/// use http::StatusCode;
/// use std::time::Duration;
/// use tower_egress::lab::{Mood, Reply};
///
/// let busy = Reply::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_secs(5));
/// let overloaded = Mood::answers(busy.clone());
/// let hiccup = Mood::answers(busy).first(3); // and then fine
/// let strays = Mood::login_refused().percent(7);
/// let mute = Mood::answers(Reply::hang());
/// # let _ = (overloaded, hiccup, strays, mute);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Mood {
    pub(super) dead: bool,
    pub(super) delay: Duration,
    says: Option<Reply>,
    share: Share,
}

/// Whom a mood meets.
#[derive(Clone, Copy, Debug)]
enum Share {
    All,
    First(u64),
    Percent(u64),
}

impl Mood {
    /// Does what it should.
    pub fn fine() -> Self {
        Self { dead: false, delay: Duration::ZERO, says: None, share: Share::All }
    }

    /// Nothing listens: connections to the gateway are refused. A dead session's connections are reset, since others use
    /// the gateway's socket as well.
    pub fn dead() -> Self {
        Self { dead: true, ..Self::fine() }
    }

    /// Answers by itself and asks no origin. [`Reply::hang`] and [`Reply::reset`] serve as well.
    pub fn answers(reply: Reply) -> Self {
        Self { says: Some(reply), ..Self::fine() }
    }

    /// Answers 407 with a challenge, whatever the login.
    pub fn login_refused() -> Self {
        Self::answers(login_refused())
    }

    /// Waits this long over each request before it does anything.
    pub fn slow(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers so many requests by itself, and does what it should with those that follow.
    pub fn first(mut self, requests: u64) -> Self {
        self.share = Share::First(requests);
        self
    }

    /// Answers this share of the requests by itself, spread evenly: of 10 % it is every tenth, the tenth first.
    pub fn percent(mut self, percent: u8) -> Self {
        self.share = Share::Percent(percent.min(100).into());
        self
    }
}

impl Default for Mood {
    fn default() -> Self {
        Self::fine()
    }
}

/// A mood, and how many requests it has met.
#[derive(Clone, Debug, Default)]
pub(super) struct Current {
    pub(super) mood: Mood,
    met: u64,
}

impl Current {
    pub(super) const fn new(mood: Mood) -> Self {
        Self { mood, met: 0 }
    }

    /// What the next request is told, if it is one that the mood meets.
    pub(super) fn meet(&mut self) -> Option<Reply> {
        let before = self.met;
        self.met += 1;
        if self.mood.dead {
            return Some(Reply::reset());
        }
        let meets = match self.mood.share {
            Share::All => true,
            Share::First(requests) => before < requests,
            Share::Percent(percent) => (before + 1) * percent / 100 > before * percent / 100,
        };
        self.mood.says.clone().filter(|_| meets)
    }
}
