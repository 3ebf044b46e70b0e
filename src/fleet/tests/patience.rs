//! Who has no patience does not wait, and passes nobody who does.

use super::line::Tasks;
use super::*;

fn plain() -> LeaseRequest {
    LeaseRequest::per_request()
}

impl World {
    /// Asks at once, or not at all.
    fn now_or_never(&mut self, origin: &str, ask: &LeaseRequest) -> Result<Grant, Refusal> {
        let at_once = match self.fleet.lease_or_wait(self.now, ask, &Origin::new(origin), self.now) {
            Turn::Granted(grant) => return Ok(grant),
            Turn::Refused(refusal) => refusal,
            Turn::Wait { .. } => panic!("it has no patience"),
        };
        let plain = self.fleet.lease_in_turn(self.now, ask, &Origin::new(origin)).unwrap_err();
        assert_eq!(plain, at_once, "as who cannot wait");
        Err(at_once)
    }
}

#[test]
fn who_has_no_patience_passes_nobody_who_waits_for_the_same() {
    let mut world = World::of(1);
    let mut tasks = Tasks::default();
    let first = world.at("a.test", &plain()).unwrap();
    world.finish(&first, limited(None));
    // It rests; somebody waits; and at the moment when it is back, somebody else asks first.
    tasks.join(&mut world, 1, "a.test", &plain());
    assert!(tasks.done.is_empty());
    let back = match world.now_or_never("a.test", &plain()).unwrap_err() {
        Refusal::Behind { retry_at, .. } => retry_at,
        other => panic!("{other:?}"),
    };
    assert!(back > world.now && back <= world.now + secs(1), "it is told when to ask again");
    let at = world.fleet.pool.next_timer();
    world.now = at;
    assert!(matches!(world.now_or_never("a.test", &plain()), Err(Refusal::Behind { .. })));
    // Another site is nobody's.
    let elsewhere = world.now_or_never("b.test", &plain()).unwrap();
    world.finish(&elsewhere, Outcome::Ok);
    tasks.wake(&mut world);
    let (task, _, turn) = tasks.done.pop().unwrap();
    let grant = turn.unwrap();
    assert_eq!(task, 1);
    world.finish(&grant, Outcome::Ok);
    tasks.wake(&mut world);
    let last = world.now_or_never("a.test", &plain()).unwrap();
    world.finish(&last, Outcome::Ok);
    assert_eq!(world.snapshot().refusals.behind, 4, "as often as two were refused");
}

#[test]
fn a_waiter_that_nobody_polls_holds_up_who_has_no_patience_for_a_moment_only() {
    let mut world = World::of(1);
    let mut tasks = Tasks { stuck: vec![1], ..Tasks::default() };
    let first = world.at("a.test", &plain()).unwrap();
    world.finish(&first, limited(None));
    tasks.join(&mut world, 1, "a.test", &plain());
    world.now = world.fleet.pool.next_timer();
    let start = world.now;
    loop {
        world.fleet.serve(world.now);
        match world.now_or_never("a.test", &plain()) {
            Ok(_) => break,
            Err(Refusal::Behind { .. } | Refusal::NoUsableExit { .. }) => {
                world.pass(Duration::from_millis(10));
            }
            Err(other) => panic!("{other:?}"),
        }
        assert!(world.now < start + secs(1), "it waits for who does not come");
    }
    assert!(world.now >= start + Duration::from_millis(100), "its turn is kept for a tenth of a second");
}
