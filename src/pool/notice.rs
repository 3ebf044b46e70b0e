//! What a fleet's owner should know of.

use crate::exit::ExitId;
use crate::outcome::{AuthReason, Multiplier};
use crate::request::Origin;
use std::collections::VecDeque;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Notice {
    /// A login was refused, and refused again when it was tried over a fresh connection: nothing goes out on it.
    CredentialStopped { by: ExitId, reason: AuthReason },
    /// A stopped login works again.
    CredentialResumed { by: ExitId },
    /// A gateway is overloaded or unreachable, and left alone.
    GatewayHeld { by: ExitId },
    /// The fleet asks too hard. `origin` is the site where most of the attempts failed, if it is one.
    AsksTooHard { multiplier: Multiplier, origin: Option<Origin> },
    /// It does so no more.
    AsksWell { multiplier: Multiplier },
}

/// What nobody has read yet. At most a few hundred: the oldest go first.
#[derive(Default)]
pub(super) struct Notices(VecDeque<Notice>);

impl Notices {
    pub(super) fn push(&mut self, notice: Notice) {
        const MOST: usize = 256;
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(notice);
    }

    /// All of them, oldest first; `None` if there are none.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Vec<Notice>> {
        if self.0.is_empty() { None } else { Some(self.drain()) }
    }

    #[cold]
    fn drain(&mut self) -> Vec<Notice> {
        self.0.drain(..).collect()
    }
}
