//! Who does not come gives its turn back.

use super::*;
use crate::fleet::Booking;

impl World {
    fn booked(&mut self, origin: &str, left: Duration) -> Result<(Duration, Booking), Why> {
        let grant = self.at(origin, &patient()).unwrap();
        self.end(&grant);
        let (ask, evidence) = (patient(), FAILED.into());
        let (receipt, deadline) = (grant.receipt, self.now + left);
        let question =
            RetryAsk { receipt, evidence, ask: &ask, repeatable: true, replayable: true, deadline };
        match self.fleet.retry_at_turn(self.now, &question) {
            (Verdict::Retry { delay, .. }, Some(booking)) => Ok((delay, booking)),
            (Verdict::Stop(why), None) => Err(why),
            other => panic!("{other:?}"),
        }
    }

    /// As many as the lane takes.
    fn fill(&mut self, origin: &str) -> Vec<(Duration, Booking)> {
        std::iter::from_fn(|| self.booked(origin, secs(3_600)).ok()).collect()
    }
}

#[test]
fn who_asks_next_has_the_turns_of_those_who_gave_up_and_no_two_fall_together() {
    let mut world = with(Lane::default(), 0.25);
    let told = world.fill("a.test");
    assert_eq!(told.len(), 63);
    // Every third gives up, those of the first second not, for that has come.
    let gone: Vec<_> = told.iter().skip(9).step_by(3).copied().collect();
    gone.iter().for_each(|(_, booking)| world.fleet.give_back(world.now, booking));
    let again: Vec<_> = world.fill("a.test").into_iter().map(|(wait, _)| wait).collect();
    assert_eq!(again, gone.iter().map(|(wait, _)| *wait).collect::<Vec<_>>(), "the same turns, and no more");
}

#[test]
fn a_fleet_that_is_cancelled_and_begins_anew_waits_for_nobody() {
    let mut world = with(Lane::default(), 0.25);
    for _ in 0..5 {
        let told = world.fill("a.test");
        assert!(told.len() >= 60 && told[5].0 <= secs(3), "{}: {:?}", told.len(), told[5]);
        told.iter().for_each(|(_, booking)| world.fleet.give_back(world.now, booking));
    }
}

#[test]
fn what_is_given_back_at_one_site_is_free_for_the_others() {
    let mut world = with(Lane::default(), 0.25);
    let (one, other) = (world.fill("a.test"), world.fill("b.test"));
    assert!(one.len() > 40 && other.len() < 22, "{} and {}", one.len(), other.len());
    one.iter().for_each(|(_, booking)| world.fleet.give_back(world.now, booking));
    assert!(world.fill("c.test").len() > 10);
}

#[test]
fn of_very_many_that_give_up_the_turns_of_a_bounded_number_are_kept() {
    let mut world = with(Lane { floor: 100.0, ..Lane::default() }, 0.25);
    let told = world.fill("a.test");
    assert!(told.len() > 2_900, "{}", told.len());
    told.iter().for_each(|(_, booking)| world.fleet.give_back(world.now, booking));
    let again = world.fill("a.test").len();
    assert!((250..=300).contains(&again), "{again}");
}
