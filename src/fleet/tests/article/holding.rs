//! How long an exit is held, and who can tell afterwards.

use super::*;

/// How often the exit of one key changes in twenty minutes of a request a second.
fn changes(ask: &LeaseRequest) -> usize {
    let mut world = World::of(50);
    let exits: Vec<_> = (0..1_200).map(|_| world.pass(secs(1)).once(ask, Outcome::Ok).receipt.exit).collect();
    exits.windows(2).filter(|two| two[0] != two[1]).count()
}

#[test]
fn a02_how_long_an_exit_is_held_is_one_scale() {
    let key = || LeaseRequest::new("k");
    let each = changes(&key().granularity(Granularity::PerRequest));
    let uses = changes(&key().granularity(Granularity::PerRequest).max_uses(NonZeroU32::new(5).unwrap()));
    let minute = changes(&key().windowed(secs(60)));
    let ten = changes(&key());
    let life = changes(&key().granularity(Granularity::Static));
    assert!(each > 1_100, "{each}");
    assert_eq!(uses, 239, "every fifth request but the first");
    assert!((15..=20).contains(&minute), "{minute}");
    assert!((1..=2).contains(&ten), "{ten}");
    assert_eq!(life, 0);
}

#[test]
fn a20_the_exit_of_an_account_on_a_day_can_be_told_later() {
    const DAY: u64 = 86_400;
    let start = config(1).epoch;
    // Another process, begun later, that has served others meanwhile.
    let begun = |days: u64| World::new(Setup { epoch: start + days * DAY * 1_000_000_000, ..config(50) });
    let asks: Vec<_> = (0..20)
        .flat_map(|n| {
            let key = format!("account-{n}");
            [
                LeaseRequest::new(key.clone()),
                LeaseRequest::new(key.clone()).windowed(secs(DAY)),
                LeaseRequest::identity(key),
            ]
        })
        .collect();
    let of = |world: &mut World| -> Vec<_> {
        asks.iter().map(|ask| world.once(ask, Outcome::Ok).receipt.exit).collect()
    };
    let (mut then, mut now) = (begun(0), begun(3));
    let before = of(&mut then);
    (0..100).for_each(|_| drop(now.once(&per(), Outcome::Ok)));
    then.pass(secs(3 * DAY));
    let told = of(&mut now);
    assert_eq!(of(&mut then), told);
    let moved = before.iter().zip(&told).filter(|(before, told)| before != told).count();
    assert!((30..=40).contains(&moved), "windows have ended, lives have not: {moved}");
}
