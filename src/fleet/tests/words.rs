//! What a snapshot prints: the words of the README, and nothing that is not so.

use super::*;
use crate::exit::ExitList;
use crate::outcome::WireBytes;

const README: &str = include_str!("../../../README.md");

/// The names of the rows, without those of sites.
fn rows(table: &str) -> Vec<&str> {
    let name = |line: &'_ str| -> Option<usize> { line.get(..21).map(|name| name.trim_end().len()) };
    table.lines().filter_map(|line| line.get(..name(line)?)).map(str::trim).collect()
}

#[test]
fn each_word_of_the_table_is_explained_in_the_readme() {
    let list = ExitList::parse("192.0.2.1:8080\n\n# Oslo\n192.0.2.2:8080\n192.0.2.3:8080\n").unwrap();
    let mut world = World::new(Setup { exits: list.into_iter().collect(), ..config(1) });
    let blocked = world.once(&LeaseRequest::per_request(), BLOCKED);
    let limited = world.once(&LeaseRequest::per_request(), limited(Some(60)));
    world.fleet.spend(&blocked.receipt, WireBytes::new(10, 20));
    let table = world.snapshot().to_string();
    let explained = README.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    for row in rows(&table) {
        if row != "shop.example" && !row.ends_with(".test") {
            assert!(explained.contains(&row.to_lowercase()), "{row:?} of\n{table}");
        }
    }
    for words in
        ["cooling or on trial", "hot pair", "cooling pair", "behind others in line", "with a stopped login"]
    {
        assert!(explained.contains(words), "{words}");
    }
    let line = |grant: &Grant| {
        format!(
            "{} (line {})",
            grant.receipt.exit,
            match grant.route.host() {
                "192.0.2.1" => 1,
                "192.0.2.2" => 4,
                _ => 5,
            }
        )
    };
    assert!(table.contains(&format!("hot pair              {} at", line(&blocked))), "{table}");
    assert!(table.contains(&format!("hot pair              {} at", line(&limited))), "{table}");
    assert!(table.contains(&format!("most through        {}: 30 B", line(&blocked))), "{table}");
}

#[test]
fn what_is_cold_and_does_not_rest_is_no_hot_pair() {
    let mut world = World::of(3);
    let grant = world.once(&LeaseRequest::per_request(), limited(Some(1)));
    assert_eq!(world.snapshot().hottest.len(), 1, "it rests");
    world.pass(secs(5));
    let back = world.lease(&LeaseRequest::per_request());
    world.finish(&back, Outcome::Ok);
    let snapshot = world.pass(secs(600)).snapshot();
    assert!(snapshot.hottest.is_empty(), "{} {snapshot}", grant.receipt.exit);
}

#[test]
fn an_exit_that_was_but_used_a_moment_ago_is_not_on_trial() {
    let mut world = World::of(4);
    for exit in 0..200 {
        world.pass(Duration::from_millis(100));
        let Ok(grant) = world.at("shop.test", &LeaseRequest::per_request()) else { continue };
        world.finish(&grant, if exit % 4 == 0 { limited(Some(1)) } else { Outcome::Ok });
    }
    let mut seen = 0;
    for _ in 0..200 {
        world.pass(Duration::from_millis(20));
        if let Err(Refusal::NoUsableExit { counts, .. }) = world.at("shop.test", &LeaseRequest::per_request())
        {
            assert_eq!(counts.total(), 4, "{counts:?}");
            seen += counts.busy;
            let benched = world.snapshot().origins[0].benched;
            assert_eq!(benched, counts.cooling + counts.on_trial, "{counts:?}");
        } else {
            continue;
        }
    }
    assert!(seen > 0, "its exits were never spaced");
}
