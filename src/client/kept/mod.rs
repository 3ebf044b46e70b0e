//! Connections that wait to be used again, and dials that several requests wait for.

mod aged;
mod closers;
mod flight;
mod idle;

pub(super) use flight::Flights;
pub(super) use idle::{Idle, Kept};

use crate::exit::ExitId;
use http::uri::Authority;

/// What a connection may be used for again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) exit: ExitId,
    /// The number of the hold that may use it again; 0 for anybody.
    pub(super) holder: u64,
    pub(super) https: bool,
    /// Requests are put to the exit itself.
    pub(super) forwarded: bool,
    pub(super) authority: Authority,
}
