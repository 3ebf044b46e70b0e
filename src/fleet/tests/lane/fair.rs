//! What others do is no reason to wait.

use super::*;

/// Sites, of which so many are broken and ask for a retry a hundred times a second; the others are asked every ten seconds and fail one
/// time in ten. Whether each retry of those was granted, and how long it waited; and the turns of the broken ones.
fn among(broken: u64, sites: u64) -> (Vec<Result<Duration, Duration>>, usize) {
    let mut world = with(Lane::default(), 0.25);
    let (mut well, mut ill) = (Vec::new(), 0);
    for tick in 0..12_000_u64 {
        world.pass(millis(100));
        for site in 0..sites {
            let name = format!("{site}.test");
            if site < broken {
                let turns = (0..10).filter(|_| world.turn(&name, FAILED).is_ok());
                ill += turns.count();
            } else if (tick + site) % 100 == 0 {
                let fails = (tick / 100 + site) % 10 == 9;
                let grant = world.at(&name, &patient()).unwrap();
                world.finish(&grant, if fails { FAILED } else { Outcome::Ok });
                // What was reserved before a site is known to others is not taken back: 30 s of turns.
                if fails && tick > 600 {
                    well.push(world.turn_of(&grant, FAILED, secs(3_600)));
                }
            }
        }
    }
    (well, ill)
}

#[test]
fn few_broken_sites_starve_no_retry_of_the_others() {
    for broken in [1, 5] {
        let (well, ill) = among(broken, 50);
        assert!(well.len() > 500, "{}", well.len());
        let parked = well.iter().filter(|turn| turn.is_err()).count();
        let late = well.iter().filter(|turn| **turn > Ok(millis(500))).count();
        // Those that failed before they had earned a turn.
        assert!(parked == 0 && late * 25 < well.len(), "{parked} of {} are parked, {late} wait", well.len());
        // Two a second for all of them, with one part kept free.
        assert!((1_000..=2_500).contains(&ill), "{ill} turns of {broken} broken sites in 20 minutes");
    }
}
