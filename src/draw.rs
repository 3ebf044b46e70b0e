//! Random numbers as a function of where they are used: `draw(seed, stream, entity, counter)`. Replayable, and independent
//! of the order in which requests happen to run.

/// What a draw is for. Streams with the same entity and counter must not agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Stream {
    /// Placing a binding: entity = binding, counter = window and generation.
    Place = 1,
    /// Where a binding's windows begin.
    Phase,
    /// Picking for a request that holds nothing: counter = how many picks there were.
    Pick,
    /// Lengthening a cooldown.
    Cooldown,
    /// Jitter of a retry's delay.
    Retry,
    /// Lengthening the hold of an origin: entity = origin, counter = how often it was held.
    Hold,
}

/// A uniform u64.
pub(crate) const fn draw(seed: u64, stream: Stream, entity: u64, counter: u64) -> u64 {
    mix(mix(mix(seed ^ stream as u64) ^ entity) ^ counter)
}

/// SplitMix64's step (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
pub(crate) const fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A draw as a number in 0..1.
#[allow(clippy::cast_precision_loss, reason = "53 bits are kept, which is all an f64 holds")]
pub(crate) const fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// A draw as an index below `n`, which must not be 0 (Lemire's multiply-shift).
#[allow(clippy::cast_possible_truncation, reason = "the high half of the product is below n")]
pub(crate) const fn below(draw: u64, n: usize) -> usize {
    ((draw as u128 * n as u128) >> 64) as usize
}

/// A text as a number that is the same in every process: FNV-1a, mixed.
pub(crate) fn text(text: &str) -> u64 {
    mix(text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}
