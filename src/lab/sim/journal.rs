//! The log of decisions: what was decided when, for whom. Its hash tells whether two runs decided alike.

use super::contender::Next;
use super::job::Job;
use crate::outcome::Evidence;
use crate::request::Time;
use sha2::{Digest, Sha256};

/// One decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) at: Time,
    pub(super) job: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Through this exit.
    Send(u32),
    /// It stands in line, or waits, until called or until then.
    Wait,
    /// It is put aside until then.
    Park(Time),
    Done,
    GiveUp,
}

impl Entry {
    fn bytes(self) -> [u8; 24] {
        let (kind, value) = match self.what {
            What::Send(exit) => (0_u32, u64::from(exit)),
            What::Wait => (1, 0),
            What::Park(at) => (2, at.as_nanos()),
            What::Done => (3, 0),
            What::GiveUp => (4, 0),
        };
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        bytes[8..12].copy_from_slice(&self.job.to_le_bytes());
        bytes[12..16].copy_from_slice(&kind.to_le_bytes());
        bytes[16..].copy_from_slice(&value.to_le_bytes());
        bytes
    }
}

impl From<Next> for What {
    fn from(next: Next) -> Self {
        match next {
            Next::Send(exit) => Self::Send(exit),
            Next::Wait(_) | Next::Anew(_) => Self::Wait,
            Next::Park(at) => Self::Park(at),
            Next::Done => Self::Done,
            Next::GiveUp(_) => Self::GiveUp,
        }
    }
}

/// What a policy is asked.
#[cfg_attr(not(test), expect(dead_code, reason = "a test replays it"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum Heard {
    Begins,
    Resumes,
    Answer(u32, Evidence),
}

/// All that decisions hang on: they are the same without a world, if they are asked for the same.
#[cfg_attr(not(test), expect(dead_code, reason = "a test replays it"))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) at: Time,
    pub(super) job: Job,
    pub(super) heard: Heard,
}

#[derive(Default)]
pub(super) struct Journal {
    hash: Sha256,
    entries: u64,
    /// All of them, if they are wanted.
    pub(super) kept: Option<Vec<Entry>>,
    /// All inputs, if somebody wants them.
    pub(super) heard: Option<Vec<Input>>,
}

impl Journal {
    pub(super) fn keeping(all: bool) -> Self {
        Self { kept: all.then(Vec::new), ..Self::default() }
    }

    pub(super) fn note(&mut self, entry: Entry) {
        self.hash.update(entry.bytes());
        self.entries += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(entry);
        }
    }

    pub(super) fn hear(&mut self, at: Time, job: Job, heard: Heard) {
        if let Some(inputs) = &mut self.heard {
            inputs.push(Input { at, job, heard });
        }
    }

    /// Keeps what is heard from now on.
    #[cfg(test)]
    pub(super) fn overhear(&mut self) {
        self.heard = Some(Vec::new());
    }

    pub(super) const fn entries(&self) -> u64 {
        self.entries
    }

    /// In hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
