//! A dead exit rests for every site, and comes back by one probe.

use crate::{NEWS, SHOP, World};
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_dead_exit_costs_three_attempts_and_a_probe_and_nothing_of_it_is_billed() {
    let world = World::of_exits(4);
    let (proxy, exit) = (world.lab.exit(0), world.exit(0));
    proxy.kill();
    let mut faults = 0;
    let mut pages = 0;
    while world.fleet().exits.dead == 0 {
        faults += world.pages(1, SHOP, exit).await;
        pages += 1;
    }
    assert_eq!((faults, world.fleet().outcomes.proxy_error), (3, 3));
    assert_eq!((world.billed("shop.test"), world.fleet().leases), (pages, pages + 3));

    // It is back, but rests for 4.5 s at least: at all sites.
    proxy.heal().unwrap();
    assert_eq!(world.pages(10, SHOP, exit).await + world.pages(10, NEWS, exit).await, 0);
    assert_eq!((world.fleet().exits.dead, proxy.traffic().requests), (1, 0));
    sleep(Duration::from_secs(6)).await;
    let mut probed = pages + 10;
    while world.fleet().exits.dead > 0 {
        world.pages(1, SHOP, exit).await;
        probed += 1;
    }
    assert_eq!(proxy.traffic().requests, 1, "one probe");
    assert_eq!(
        (world.billed("shop.test"), world.fleet().leases),
        (probed, probed + 10 + 3),
        "and it is a page"
    );
    assert!(world.pages(40, SHOP, exit).await > 0, "it serves again");
}

#[tokio::test(start_paused = true)]
async fn a_probe_in_vain_doubles_the_rest_and_bills_nothing() {
    let world = World::of_exits(4);
    let exit = world.exit(0);
    world.lab.exit(0).kill();
    while world.fleet().exits.dead == 0 {
        world.pages(1, SHOP, exit).await;
    }
    // Probes after 5, 15 and 35 s, more or less; the fourth would be after 75 s.
    let before = world.billed("shop.test");
    let mut probes = 0;
    for _ in 0..55 {
        probes += world.pages(5, SHOP, exit).await;
        sleep(Duration::from_millis(250)).await;
    }
    assert_eq!((probes, world.fleet().exits.dead), (3, 1));
    assert_eq!(world.billed("shop.test") - before, 5 * 55, "pages, and nothing else");
}
