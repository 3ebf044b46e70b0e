//! A file that is read again.

use tower_egress::{Config, ExitId, LeaseRequest, Scheduler};

fn pool(exits: &[u8]) -> String {
    let specs: Vec<_> = exits.iter().map(|last| format!("'203.0.113.{last}:8080'")).collect();
    format!("[[pool]]\nname = 'dc'\nproxies = [{}]\n", specs.join(", "))
}

fn ids(text: &str) -> Vec<ExitId> {
    Config::parse(text).unwrap().pools()[0].exits().iter().map(|exit| exit.id()).collect()
}

fn exit_of(scheduler: &Scheduler, key: &str) -> ExitId {
    let lease = scheduler.lease(&LeaseRequest::new(key).origin("shop.example")).unwrap();
    lease.exit()
}

#[tokio::test(start_paused = true)]
async fn what_stays_is_held_on_and_what_is_gone_is_not_leased() {
    let (before, after) = (pool(&[1, 2, 3]), pool(&[2, 3, 4, 5]));
    let scheduler = Config::parse(&format!("seed = 1\n{before}")).unwrap().builder().build().unwrap();
    let keys: Vec<_> = (0..40).map(|key| format!("sku-{key}")).collect();
    let held: Vec<_> = keys.iter().map(|key| exit_of(&scheduler, key)).collect();
    let reloaded = scheduler.operator().reload(Config::parse(&after).unwrap().builder()).unwrap();
    assert_eq!((reloaded.added, reloaded.kept, reloaded.removed), (2, 2, 1));
    let gone = ids(&before)[0];
    assert!(held.contains(&gone));
    for (key, before) in keys.iter().zip(held) {
        let now = exit_of(&scheduler, key);
        assert!(ids(&after).contains(&now));
        assert!(now == before || before == gone, "{key} was moved without need");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_or_built_changes_nothing() {
    let scheduler = Config::parse(&format!("seed = 1\n{}", pool(&[1]))).unwrap().builder().build().unwrap();
    let only = ids(&pool(&[1]))[0];
    // The one is no configuration, the other one that a scheduler cannot live with.
    assert!(Config::parse(&format!("{}weight = 0", pool(&[2]))).is_err());
    let nothing = Config::parse("").unwrap();
    let error = scheduler.operator().reload(nothing.builder()).unwrap_err();
    assert_eq!(error.field(), "exits");
    assert_eq!((exit_of(&scheduler, "k"), scheduler.snapshot().exits.total), (only, 1));
}
