//! That figures over seeds are what they say.

use super::{holm, interval, paired};

#[test]
fn an_interval_is_around_the_median_and_of_one_value_alone_it_is_that() {
    let values: Vec<f64> = (1..=30).map(f64::from).collect();
    let figure = interval(&values);
    assert_eq!(figure.median, 15.5);
    // Order statistics 10 and 21 of 30 are the exact 95 % interval of a median.
    assert!((8.0..=12.0).contains(&figure.low) && (19.0..=23.0).contains(&figure.high), "{figure:?}");
    assert_eq!(figure, interval(&values), "the same sample has the same interval");
    let one = interval(&[3.0]);
    assert_eq!((one.median, one.low, one.high), (3.0, 3.0, 3.0));
    assert_eq!(interval(&[]).median, 0.0);
}

#[test]
fn pairs_that_always_differ_alike_are_told_from_chance_and_pairs_that_do_not_are_not() {
    let noisy: Vec<f64> = (0..30).map(|at| f64::from(at * 7919 % 100)).collect();
    let better: Vec<f64> = noisy.iter().map(|value| value - 1.0).collect();
    let told = paired(&better, &noisy);
    assert_eq!(told.difference.median, -1.0, "the noise is common, and cancels");
    assert!(told.p < 0.001, "{told:?}");
    let swung: Vec<f64> = (0_i32..).zip(&noisy).map(|(at, v)| v + f64::from(at % 2 * 2 - 1)).collect();
    assert!(paired(&swung, &noisy).p > 0.5);
    assert_eq!(paired(&noisy, &noisy).p, 1.0, "no difference at all");
    // Of three pairs, two of the eight choices of signs are as far.
    let three = paired(&[1.0, 1.0, 1.0], &[0.0; 3]).p;
    assert!((0.2..0.3).contains(&three), "{three}");
}

#[test]
fn holm_multiplies_the_smallest_by_their_number_and_keeps_the_order() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.5]);
    assert_eq!(adjusted[0], 0.04);
    assert!((adjusted[2] - 0.09).abs() < 1e-12);
    assert_eq!(adjusted[1], adjusted[2], "0.08 would be before the smaller one");
    assert_eq!(adjusted[3], 0.5);
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}
