//! What a site refuses costs a pair: this exit at this site. The exit serves all other sites meanwhile.

use super::scene::{AT_ONCE, DELAY, NEWS, SHOP, Scene, now};
use super::{HINT, Shown, check, say, seconds};
use http::StatusCode;
use std::time::Duration;
use tokio::time::sleep;
use tower_egress::LeaseRequest;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::scheduler::Snapshot;

/// A 403: the pair is burned.
pub(super) async fn burns() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(5, Behaviour::slow(DELAY)))?;
    let (url, other) = (scene.world.url("/p"), format!("http://{NEWS}/p"));
    let (site, proxy) = (scene.world.origin().clone(), scene.world.exit(0).clone());
    let exit = proxy.exit().id();

    site.ban(proxy.source());
    let burned = scene.until(&url, |fleet| benched(fleet) == 1).await;
    let rest = longest_rest(&scene.scheduler.snapshot()) + burned.elapsed();
    let (waited, refused) = (seconds(scene.longest_wait()), scene.through(exit));
    say("happened", format!("{SHOP} answers 403 through 1 of 5 exits"))?;
    say("requests", format!("{refused} met that, and came through another exit within {waited}"))?;
    say("scheduler", format!("the pair of this exit and {SHOP} rests for {}", seconds(rest)))?;

    scene.round(&other).await;
    let elsewhere = scene.through(exit);
    scene.round(&url).await;
    let here = scene.through(exit);
    let of = format!("of {AT_ONCE} pages of");
    say("", format!("meanwhile the exit serves {elsewhere} {of} {NEWS}, and {here} {of} {SHOP}"))?;

    site.pardon(proxy.source());
    scene.until(&url, |fleet| benched(fleet) == 0).await;
    let mut trials = scene.through(exit);
    while trials == 0 {
        scene.round(&url).await;
        trials = scene.through(exit);
    }
    let (cost, took) = (scene.cost(), burned.elapsed());
    say("cost", format!("{cost}: a 403 comes from the site, so it is billed"))?;
    say(
        "healed",
        format!(
            "after {}, by {trials} trial. The rest of {} was over by then, but exits that",
            seconds(took),
            seconds(rest)
        ),
    )?;
    say("", "were not refused lately go first, and no page needed this one sooner")?;

    check(here == 0 && elsewhere > 0, "the exit should rest at one site alone")?;
    check(trials == 1 && took >= rest, "the rest should be over, and one trial do")?;
    check(cost.billed == cost.asked + refused, "something was billed that is no page")?;
    scene.check_pages()
}

/// A 429: the pair rests for as long as the site says. Who holds the exit keeps it.
pub(super) async fn slows_down() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(5, Behaviour::slow(DELAY)))?;
    let url = scene.world.url("/p");
    let ask = || LeaseRequest::new("sku-42").windowed(Duration::MAX);
    scene.round(&url).await;
    let own = scene.get(&url, ask()).await.end?;
    let at = scene.world.exits().iter().position(|exit| exit.id() == own);
    let peer = at.map(|at| scene.world.exit(at).source());
    let site = scene.world.origin().clone();
    scene.begin();

    site.respond(move |seen| match Some(seen.peer()) == peer {
        true => Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(HINT),
        false => Reply::page("9.99"),
    });
    let begun = now();
    let lent = scene.get(&url, ask()).await.end?;
    let (waited, refused) = (seconds(scene.longest_wait()), scene.through(own));
    say("happened", format!("{SHOP} answers 429, Retry-After {}, through 1 of 5 exits", HINT.as_secs()))?;
    say(
        "requests",
        format!("{refused}, of sku-42 which holds that exit, came through another after {waited}"),
    )?;
    check(refused == 1 && lent != own, "another exit should be lent")?;

    site.respond(|_| Reply::page("9.99"));
    let mut lent = 0;
    while scene.get(&url, ask()).await.end? != own {
        lent += 1;
        sleep(Duration::from_secs(1)).await;
    }
    let (took, asked, cost) = (begun.elapsed(), scene.through(own).saturating_sub(1), scene.cost());
    say("scheduler", "the pair of this exit and the site rests for as long as the site says")?;
    say("", format!("meanwhile {lent} pages of sku-42 come through lent exits, {asked} through its own"))?;
    say("cost", format!("{cost}: a 429 comes from the site, so it is billed"))?;
    say("healed", format!("after {}: sku-42 has its own exit again", seconds(took)))?;

    check(asked == 0 && took >= HINT, "the exit should rest for as long as the site says")?;
    check(cost.billed == cost.asked + refused, "something was billed that is no page")?;
    scene.check_pages()
}

/// Exits that rest at a site, or are on trial there.
fn benched(fleet: &Snapshot) -> u32 {
    fleet.origins.iter().map(|origin| origin.benched).sum()
}

fn longest_rest(fleet: &Snapshot) -> Duration {
    fleet.hottest.iter().map(|pair| pair.cooling).max().unwrap_or_default()
}
