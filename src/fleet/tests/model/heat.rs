//! Heat by the book: the sum of all events, each weighing half after 42 s, at most 32 of them in all.

/// One event, or one that is taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at: u64,
    pub(super) share: f64,
    /// When it was counted, if this takes it back.
    pub(super) counted: Option<u64>,
}

fn kept(from: u64, to: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "half a nanosecond in a century changes no heat")]
    let seconds = to.saturating_sub(from) as f64 / 1e9;
    (-seconds / 42.0).exp2()
}

/// Good and bad events as they weigh now.
fn sums(list: &[Seen], now: u64) -> (f64, f64) {
    let (mut good, mut bad, mut last) = (0.0_f64, 0.0_f64, 0);
    for seen in list {
        let old = kept(last, seen.at);
        (good, bad, last) = (good * old, bad * old, seen.at);
        match seen.counted {
            None => {
                (good, bad) = (good + 1.0 - seen.share, bad + seen.share);
                let scale = (32.0 / (good + bad)).min(1.0);
                (good, bad) = (good * scale, bad * scale);
            }
            Some(then) => {
                let weight = kept(then, seen.at);
                good = (good - (1.0 - seen.share) * weight).max(0.0);
                bad = (bad - seen.share * weight).max(0.0);
            }
        }
    }
    let old = kept(last, now);
    (good * old, bad * old)
}

/// Of a pair, or of a gateway at an origin: the prior is worth four events.
pub(super) fn rate(list: &[Seen], now: u64, prior: f64) -> f64 {
    let (good, bad) = sums(list, now);
    (bad + 4.0 * prior) / (good + bad + 4.0)
}

/// Of an origin: half a block in ten while nothing is known.
pub(super) fn prior(list: &[Seen], now: u64) -> f64 {
    let (good, bad) = sums(list, now);
    (bad + 0.5) / (good + bad + 10.0)
}
