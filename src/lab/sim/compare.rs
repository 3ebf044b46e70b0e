//! Figures over seeds: a median with its interval, and whether two policies differ.

use crate::draw::{below, mix};

/// How often a sample is drawn anew.
const DRAWS: u64 = 2_000;

/// A median, and where 95 of 100 samples of this size have it: by the bootstrap, from percentiles.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// Of the sample.
    pub median: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// What one policy has more than another in the same worlds.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Paired {
    /// Of the differences.
    pub difference: Interval,
    /// How often differences of these sizes are this far from 0 on average if their signs are mere chance.
    pub p: f64,
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

fn draw(draw: u64, at: usize) -> u64 {
    mix(mix(0xb007_57a9 ^ draw) ^ at as u64)
}

/// The median of a sample with its interval; zeros of an empty one. The same sample has the same interval.
#[must_use]
pub fn interval(values: &[f64]) -> Interval {
    if values.is_empty() {
        return Interval::default();
    }
    let again = |round| {
        let mut sample: Vec<f64> =
            (0..values.len()).map(|at| values[below(draw(round, at), values.len())]).collect();
        median(&mut sample)
    };
    let mut medians: Vec<f64> = (0..DRAWS).map(again).collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[((share * DRAWS as f64) as usize).min(medians.len() - 1)];
    Interval { median: median(&mut values.to_vec()), low: at(0.025), high: at(0.975) }
}

/// Compares two policies that met the same luck, seed by seed; the shorter sample says how many there are. The p is that of a
/// test by signs drawn at random: it assumes nothing but that neither order is special.
#[must_use]
pub fn paired(ours: &[f64], theirs: &[f64]) -> Paired {
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect();
    let far = differences.iter().sum::<f64>().abs();
    let as_far = |round: &u64| {
        let sum: f64 = (0..)
            .zip(&differences)
            .map(|(at, value)| if draw(*round, at) & 1 == 0 { *value } else { -value })
            .sum();
        sum.abs() >= far - 1e-12 * far
    };
    let count = (0..DRAWS).filter(as_far).count();
    // The signs as they are count as one of the draws: no p is 0.
    Paired { difference: interval(&differences), p: (count + 1) as f64 / (DRAWS + 1) as f64 }
}

/// The p of many comparisons, each as large as it must be if the chance to be wrong anywhere shall be what it says (Holm).
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        most = most.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = most;
    }
    adjusted
}
