//! Several processes that share a pool.

use super::*;
use crate::knobs::Governor;

/// Turns within the reach of a lane of one of so many processes, at one site and at a hundred.
fn turns(of: u32) -> (usize, usize) {
    let member = || World::new(Setup { knobs: Knobs::default().for_one_of(of), ..config(40) });
    let (mut one, mut many) = (member(), member());
    let at_one = (0..200).filter(|_| one.turn("a.test", FAILED).is_ok()).count();
    let at_many = (0..200).filter(|at| many.turn(&format!("{}.test", at % 100), FAILED).is_ok()).count();
    (at_one, at_many)
}

#[test]
fn processes_that_share_a_pool_share_what_there_is_in_any_case() {
    let (one, many) = turns(1);
    for of in [2, 4, 10, 25] {
        let (of_one, of_many) = turns(of);
        let all = of as usize;
        assert!(
            (of_one * all).abs_diff(one) <= 2 * all,
            "{of} processes have {of_one} turns each at one site, not {one}"
        );
        assert!(
            of_many >= 1 && of_many * all <= many + 3 * all,
            "{of} processes have {of_many} turns each, not {many}"
        );
    }
}

#[test]
fn the_least_concurrency_is_shared_and_never_none() {
    let least = |of| Knobs::default().for_one_of(of).governor.map(|governor| governor.least);
    assert_eq!(least(1), Some(Governor::default().least));
    assert_eq!([least(2), least(4), least(100)], [Some(2), Some(1), Some(1)]);
    let throttle = |of| Knobs::default().for_one_of(of).throttle.map(|throttle| throttle.least);
    assert_eq!([throttle(1), throttle(2), throttle(100)], [Some(4), Some(2), Some(1)]);
    assert_eq!(Knobs::default().for_one_of(1), Knobs::default());
}
