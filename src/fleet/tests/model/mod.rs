//! The fleet against a naive reference, by stories that proptest draws.
//!
//! The reference keeps a list of all that has happened and computes each answer from it anew, as the documents say it.
//! The lane of retries is on, and only that it tells the same again is looked at here: `tests/lane.rs` has its rules, as
//! windows over all turns.
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` look further than the 256 stories of every run.

mod answers;
mod attempts;
mod charges;
mod gate;
mod heat;
mod login;
mod play;
mod reference;
mod refusals;
mod steps;
mod waiting;

use play::Player;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The same stories in every run, unless somebody asks for others.
fn config() -> Config {
    let config = Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    match config.rng_seed {
        RngSeed::Random => Config { rng_seed: RngSeed::Fixed(19), ..config },
        RngSeed::Fixed(_) => config,
    }
}

#[test]
fn the_fleet_answers_as_the_list_of_all_that_has_happened_says() {
    let config = config();
    let seed = config.rng_seed;
    let told = TestRunner::new(config).run(&steps::story(), |story| {
        let first = Player::new(&story).play(&story);
        let again = Player::new(&story).play_again(&story);
        assert_eq!(first, again, "the same story has another end");
        Ok(())
    });
    if let Err(why) = told {
        panic!("{why}\nseed: {seed:?}");
    }
}
