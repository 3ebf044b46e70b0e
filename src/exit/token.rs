//! Session tokens: which session of a gateway a lease rides. A hash, so that processes with one seed agree without talking.

use sha1::{Digest, Sha1};

/// What a gateway takes as a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alphabet {
    /// A letter, then letters and digits, all lower case: fits every alphanumeric grammar, and holds no separator.
    Letters,
    /// Digits alone. Random ones collide (10,000 of eight digits share one with 39 %), so they are counted out.
    Digits,
}

/// The shape of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) alphabet: Alphabet,
    pub(crate) length: u8,
}

/// 26 · 36^7 tokens: a million sessions collide with one chance in five, and a collision only shares an exit.
pub(crate) const SHAPE: Shape = Shape { alphabet: Alphabet::Letters, length: 8 };

/// What a token is a hash of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Session {
    pub(crate) salt: u64,
    /// Who rides it: a binding, or a slot of the pool.
    pub(crate) rider: u64,
    /// How often its exit was lost.
    pub(crate) generation: u32,
    pub(crate) window: u64,
}

impl Shape {
    /// How many tokens there are.
    pub(crate) fn tokens(self) -> u64 {
        let length = u32::from(self.length);
        match self.alphabet {
            Alphabet::Letters => 36_u64.saturating_pow(length.saturating_sub(1)).saturating_mul(26),
            Alphabet::Digits => 10_u64.saturating_pow(length),
        }
    }

    /// The token of a session; for digits, of the `count`-th session there was.
    pub(crate) fn token(self, session: &Session, count: u64) -> String {
        match self.alphabet {
            Alphabet::Letters => self.letters(session),
            Alphabet::Digits => {
                let width = usize::from(self.length);
                format!("{:0width$}", count % self.tokens())
            }
        }
    }

    fn letters(self, session: &Session) -> String {
        const CHARS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut token = String::with_capacity(usize::from(self.length));
        for block in 0_u32.. {
            let mut sha = Sha1::new();
            for part in [session.salt, session.rider, session.generation.into(), session.window, block.into()]
            {
                sha.update(part.to_be_bytes());
            }
            let digest: [u8; 20] = sha.finalize().into();
            for pair in digest.chunks_exact(2) {
                if token.len() == usize::from(self.length) {
                    return token;
                }
                let choices = if token.is_empty() { 26 } else { 36 };
                let draw = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
                token.push(char::from(CHARS[(draw * choices) >> 16]));
            }
        }
        token
    }
}
