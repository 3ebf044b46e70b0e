//! That a world is what it says, and the same for everybody.

mod compare;
mod reference;

use super::*;

#[test]
fn the_same_seed_makes_the_same_log_and_another_one_does_not() {
    let world = Scenario::named("T").unwrap().pool(20, 32).jobs(300);
    for policy in Policy::ALL {
        let first = run(&world, *policy, 1);
        assert_eq!(first, run(&world, *policy, 1));
        assert_ne!(first.log, run(&world, *policy, 2).log);
    }
}
