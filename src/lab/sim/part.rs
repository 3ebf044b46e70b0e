//! The fleet's parts, and the fleet without one of them.

use crate::knobs::Knobs;

macro_rules! parts {
    ($($(#[doc = $doc:literal])* $part:ident $knob:ident,)*) => {
        /// A part of the fleet's collective decisions that can be switched off.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Part {
            $($(#[doc = $doc])* $part,)*
        }

        impl Part {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$part),*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => stringify!($knob),)*
                }
            }

            /// The name of a fleet without it.
            pub(super) const fn without(self) -> &'static str {
                match self {
                    $(Self::$part => concat!("ours-", stringify!($knob)),)*
                }
            }

            /// What it does, in a few words that go on in a sentence.
            #[must_use]
            pub fn about(self) -> String {
                let line = match self {
                    $(Self::$part => concat!($($doc),*),)*
                };
                let line = line.trim().trim_end_matches('.');
                line.chars().take(1).flat_map(char::to_lowercase).chain(line.chars().skip(1)).collect()
            }

            pub(super) fn off(self, knobs: Knobs) -> Knobs {
                match self {
                    $(Self::$part => Knobs { $knob: None, ..knobs },)*
                }
            }
        }
    };
}

// A line for each `Option` in `Knobs`.
parts! {
    /// An origin that fails everybody is left alone as a whole.
    Hold hold,
    /// Retries take turns.
    Lane lane,
    /// There are fewer leases where too many attempts fail.
    Governor governor,
    /// How far apart an origin wants an exit's uses is learned.
    Spacing spacing,
    /// What a block means is learned.
    Suspicion suspicion,
    /// Blocks that follow requests burn nobody.
    Diagnosis diagnosis,
    /// There are fewer leases behind a gateway that has too much to do.
    Throttle throttle,
}
