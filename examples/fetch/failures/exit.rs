//! A dead exit: nothing can be reached through it.

use super::scene::{AT_ONCE, DELAY, Scene};
use super::{Shown, check, say, seconds};
use tower_egress::lab::{Behaviour, Lab};

pub(super) async fn dies() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(5, Behaviour::slow(DELAY)))?;
    let (url, proxy) = (scene.world.url("/p"), scene.world.exit(0).clone());
    let exit = proxy.exit().id();

    proxy.kill();
    let died = scene.until(&url, |fleet| fleet.exits.dead == 1).await;
    let (waited, faults) = (seconds(scene.longest_wait()), scene.through(exit));
    say("happened", "1 of 5 proxies refuses connections")?;
    say("requests", format!("{faults} met it, and came through another within {waited}"))?;
    say("scheduler", format!("{faults} faults in a row: the exit is dead, and rests for every site"))?;

    // It is back long before its rest is over, and nobody asks.
    proxy.heal()?;
    let back = scene.until(&url, |fleet| fleet.exits.dead == 0).await;
    let (trials, cost, took) = (scene.through(exit), scene.cost(), seconds(back - died));
    say("cost", format!("{cost}: a refused connection bills nothing"))?;
    scene.round(&url).await;
    let served = scene.through(exit);
    say(
        "healed",
        format!("after {took}, by {trials} trial; it serves {served} of the next {AT_ONCE} pages"),
    )?;

    check(faults == 3 && trials == 1 && served > 0, "3 faults and 1 trial should do")?;
    check(cost.billed == cost.asked, "something was billed that is no page")?;
    scene.check_pages()
}
