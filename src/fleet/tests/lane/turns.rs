//! One lane by itself.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn in_no_window_are_more_turns_than_its_pace_and_a_burst(
        gaps in prop::collection::vec((0..400_u64, prop::bool::ANY), 1..300),
        rate in 0.5..50.0_f64,
        burst in 3.0..20.0_f64,
    ) {
        let (mut lane, mut now, mut turns) = (Turns::default(), Time::ZERO, Vec::new());
        let pace = Pace { rate, burst };
        for (gap, dear) in gaps {
            now = now + millis(gap);
            let cost = if dear { 2.0 } else { 1.0 };
            let (told, turn) = (lane.peek(now, cost, pace), lane.reserve(now, cost, pace));
            prop_assert_eq!(told, turn);
            prop_assert!(turn >= now && turns.last().is_none_or(|(before, _)| *before <= turn), "first come, first");
            turns.push((turn, cost));
        }
        for from in 0..turns.len() {
            let mut spent = 0.0;
            for (turn, cost) in &turns[from..] {
                spent += cost;
                let window = turn.since(turns[from].0).as_secs_f64();
                prop_assert!(spent <= rate * window + burst + 1.0 + 1e-6, "{} in {} s", spent, window);
            }
        }
    }

    #[test]
    fn a_lane_whose_pace_changes_keeps_the_order_and_the_fastest_pace(
        asks in prop::collection::vec((0..300_u64, 0.5..50.0_f64), 1..300),
    ) {
        let (mut lane, mut now, mut turns) = (Turns::default(), Time::ZERO, Vec::<Time>::new());
        let fastest = asks.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        for (gap, rate) in asks {
            now = now + millis(gap);
            let turn = lane.reserve(now, 1.0, Pace { rate, burst: 3.0 });
            prop_assert!(turns.last().is_none_or(|before| *before <= turn), "nobody is overtaken");
            turns.push(turn);
        }
        for from in 0..turns.len() {
            for to in from..turns.len() {
                // One more than the burst, where the pace falls: what was saved is time, and more of it at the slower pace.
                let most = fastest * turns[to].since(turns[from]).as_secs_f64() + 4.0;
                prop_assert!((to - from + 1) as f64 <= most + 1e-6);
            }
        }
    }
}
