//! Blocks that were laid to the request and not to the exit, until it is known whether the request passes elsewhere.

use super::super::receipt::{LeaseId, Receipt};
use crate::outcome::Evidence;
use std::collections::VecDeque;

/// Most that are kept: a request is sent again within a moment.
const MOST: usize = 256;

#[derive(Default)]
pub(super) struct Spared(VecDeque<(Receipt, Evidence)>);

impl Spared {
    pub(super) fn keep(&mut self, by: &Receipt, evidence: &Evidence) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((*by, *evidence));
    }

    pub(super) fn take(&mut self, lease: LeaseId) -> Option<(Receipt, Evidence)> {
        let at = self.0.iter().rposition(|(by, _)| by.id == lease)?;
        self.0.remove(at)
    }
}
