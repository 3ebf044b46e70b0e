//! Session tokens: which session of a gateway a lease rides. A hash, so that processes with one seed agree without talking.

use sha1::{Digest, Sha1};

/// What a gateway takes as a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alphabet {
    /// A letter, then letters and digits, all lower case: fits every alphanumeric grammar, and holds no separator.
    Letters,
    /// Digits alone, the first no zero. Random ones collide (10,000 of eight digits share one with 39 %), so they are
    /// counted out.
    Digits,
    /// Hexadecimal digits in lower case.
    Hex,
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
        let after_first = u32::from(self.length).saturating_sub(1);
        let (first, base) = self.alphabet.choices();
        base.saturating_pow(after_first).saturating_mul(first)
    }

    /// The token of a session; for digits, of the `count`-th session there was. `geo` stands for what else the provider is
    /// told with it: many keep the exit of a token that they know, whatever country is asked for later, so that another
    /// country must be another token.
    pub(crate) fn token(self, session: &Session, geo: Option<u64>, count: u64) -> String {
        match self.alphabet {
            Alphabet::Letters | Alphabet::Hex => self.hashed(session, geo),
            Alphabet::Digits => {
                let first = 10_u64.saturating_pow(u32::from(self.length).saturating_sub(1));
                (count % self.tokens()).saturating_add(first).to_string()
            }
        }
    }

    fn hashed(self, session: &Session, geo: Option<u64>) -> String {
        let chars = self.alphabet.chars();
        let (first, rest) = self.alphabet.choices();
        let mut token = String::with_capacity(usize::from(self.length));
        for block in 0_u32.. {
            let mut sha = Sha1::new();
            let parts =
                [session.salt, session.rider, session.generation.into(), session.window, block.into()];
            for part in parts.into_iter().chain(geo) {
                sha.update(part.to_be_bytes());
            }
            let digest: [u8; 20] = sha.finalize().into();
            for pair in digest.chunks_exact(2) {
                if token.len() == usize::from(self.length) {
                    return token;
                }
                let choices = if token.is_empty() { first } else { rest };
                let draw = u64::from(u16::from_be_bytes([pair[0], pair[1]]));
                let at = usize::try_from((draw * choices) >> 16).unwrap_or(0);
                token.push(char::from(chars[at]));
            }
        }
        token
    }
}

impl Alphabet {
    /// How many characters the first may be, and the others.
    const fn choices(self) -> (u64, u64) {
        match self {
            Self::Letters => (26, 36),
            Self::Digits => (9, 10),
            Self::Hex => (16, 16),
        }
    }

    const fn chars(self) -> &'static [u8] {
        match self {
            Self::Letters => b"abcdefghijklmnopqrstuvwxyz0123456789",
            Self::Digits => b"0123456789",
            Self::Hex => b"0123456789abcdef",
        }
    }
}
