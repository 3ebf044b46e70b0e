//! What an origin answers to whom.

use super::limit::Limit;
use crate::lab::Reply;
use crate::lab::seen::SeenRequest;
use http::StatusCode;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::time::Instant;

pub(super) type Respond = Arc<dyn Fn(&SeenRequest) -> Reply + Send + Sync>;

#[derive(Default)]
pub(super) struct Script {
    pub(super) banned: HashSet<IpAddr>,
    pub(super) limit: Option<Limit>,
    pub(super) pages: HashMap<String, Reply>,
    pub(super) respond: Option<Respond>,
}

/// What the script says, or whom it leaves the answer to.
pub(super) enum Cue {
    Reply(Reply),
    Ask(Respond),
}

impl Script {
    /// First ban, then limit, then page, then closure.
    pub(super) fn cue(&mut self, seen: &SeenRequest, now: Instant) -> Cue {
        if self.banned.contains(&seen.peer()) {
            return Cue::Reply(Reply::page("refused\n").status(StatusCode::FORBIDDEN));
        }
        if let Some(Err(wait)) = self.limit.as_mut().map(|limit| limit.take(seen.peer(), now)) {
            let slow_down = Reply::page("slow down\n").status(StatusCode::TOO_MANY_REQUESTS);
            return Cue::Reply(slow_down.retry_after(wait));
        }
        if let Some(page) = self.pages.get(seen.path()) {
            return Cue::Reply(page.clone());
        }
        match &self.respond {
            Some(respond) => Cue::Ask(Arc::clone(respond)),
            None => Cue::Reply(Reply::page(format!("<h1>{}</h1>\n", seen.path()))),
        }
    }
}
