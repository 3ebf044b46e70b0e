//! What concerns a site as a whole, whatever the exit: an outage, a limit on each exit, and more retries than turns.

use super::scene::{AT_ONCE, DELAY, SHOP, Scene, now, when};
use super::{Shown, check, say, seconds};
use http::StatusCode;
use std::time::Duration;
use tokio::time::sleep;
use tower_egress::LeaseRequest;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::scheduler::{OriginSnapshot, Snapshot};

/// How long the site is down.
const DOWN: Duration = Duration::from_secs(12);
/// What each exit may do there, where it is limited: a page in so long.
const EACH: Duration = Duration::from_secs(2);
/// How long it breaks each connection, how many pages want it then, and within which time each.
const BUSY: Duration = Duration::from_secs(1);
const CROWD: u32 = 400;
const SOON: Duration = Duration::from_secs(8);

/// A 503 through every exit: the site is left alone.
pub(super) async fn goes_down() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(5, Behaviour::slow(DELAY)))?;
    // Over http the 503 could be the proxy's own word.
    let (url, site) = (scene.world.tls_url("/p"), scene.world.origin().clone());
    scene.round(&url).await;
    scene.begin();

    site.respond(|_| Reply::new(StatusCode::SERVICE_UNAVAILABLE));
    let (begun, scheduler) = (now(), scene.scheduler.clone());
    let is_held = || shop(&scheduler.snapshot()).is_some_and(|shop| shop.held.is_some());
    let heals = async {
        sleep(DOWN).await;
        site.respond(|_| Reply::page("9.99"));
    };
    let held = async {
        let since = when(is_held).await;
        (since - begun, when(|| begun.elapsed() > DOWN && !is_held()).await - begun)
    };
    let ((), (noticed, took), _) = tokio::join!(heals, held, scene.round(&url));

    let (cost, fleet) = (scene.cost(), scene.scheduler.snapshot());
    let (vain, waited) = (cost.sent - cost.asked, seconds(scene.longest_wait()));
    let benched = shop(&fleet).map_or(0, |shop| shop.benched);
    say("happened", format!("for {} {SHOP} answers 503, whatever the exit", seconds(DOWN)))?;
    say(
        "requests",
        format!("{AT_ONCE} met that, waited in line, and came through after {waited} at the latest"),
    )?;
    say(
        "scheduler",
        format!("after {} the site is left alone as a whole; {benched} exits are charged", seconds(noticed)),
    )?;
    say("", format!("after each rest 1 request tries it: {} in vain", vain.saturating_sub(AT_ONCE.into())))?;
    say("cost", format!("{cost}: a 503 comes from the site, so it is billed"))?;
    say("healed", format!("after {}: the first that was served let the others follow", seconds(took)))?;

    check(benched == 0 && fleet.exits.dead == 0, "no exit is to blame")?;
    check(vain < u64::from(AT_ONCE) + 6, "a site that is down should be left alone")?;
    scene.check_pages()
}

/// 429s for whoever uses an exit too soon: the gap between two uses is learned.
pub(super) async fn limits_each_exit() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(5, Behaviour::slow(DELAY)))?;
    let (url, site) = (scene.world.url("/p"), scene.world.origin().clone());
    site.limit(1, EACH);
    let learned = |fleet: &Snapshot| shop(fleet).and_then(|shop| shop.gap).is_some();
    scene.until(&url, learned).await;
    for _ in 0..5 {
        scene.round(&url).await; // it is still learning
    }
    let vain = |cost: super::scene::Counts| cost.sent - cost.asked;
    let early = vain(scene.cost());
    scene.begin();
    for _ in 0..5 {
        scene.round(&url).await;
    }
    let (late, cost) = (vain(scene.cost()), scene.cost());
    let gap = shop(&scene.scheduler.snapshot()).and_then(|shop| shop.gap).unwrap_or_default();
    let forecast = scene.scheduler.forecast(SHOP);
    say("happened", format!("{SHOP} answers 429 to an exit that comes again within {}", seconds(EACH)))?;
    say("requests", format!("{early} met that while it was learned, {late} of the next {}", cost.asked))?;
    say(
        "scheduler",
        format!("each exit's uses there are kept {} apart; who comes sooner waits in line", seconds(gap)),
    )?;
    say("", forecast)?;
    say("cost", format!("{cost}, once it was learned: a 429 comes from the site, so it is billed"))?;

    site.unlimit();
    let lifted = now();
    let shorter = |fleet: &Snapshot| shop(fleet).and_then(|shop| shop.gap).is_none_or(|gap| gap < EACH / 2);
    scene.until(&url, shorter).await;
    say("healed", format!("after {}: without 429s the gap falls, by itself", seconds(lifted.elapsed())))?;

    check(late * 5 < cost.asked, "the gap should be learned")?;
    scene.check_pages()
}

/// More retries than turns: some are given back, with a time.
pub(super) async fn has_no_turn() -> Shown {
    let mut scene = Scene::of(Lab::builder().exits(20, Behaviour::slow(DELAY)))?;
    let (url, site) = (scene.world.tls_url("/p"), scene.world.origin().clone());
    let begun = now();
    site.respond(move |_| match begun.elapsed() < BUSY {
        true => Reply::reset(),
        false => Reply::page("9.99"),
    });
    scene.crowd(&url, CROWD, LeaseRequest::per_request().deadline(SOON)).await;

    let (cost, took) = (scene.cost(), begun.elapsed());
    let parked = scene.scheduler.snapshot().parked;
    say("happened", format!("for {} {SHOP} breaks connections, of {CROWD} pages at once", seconds(BUSY)))?;
    say(
        "requests",
        format!("{parked} were parked: sent once at least, then given back with a time to come again"),
    )?;
    say(
        "scheduler",
        "retries take turns, two a second or a tenth of what was in flight; a broken connection takes",
    )?;
    say(
        "",
        format!("two. Whose turn is after its deadline ({}), or 30 s away, is told when", seconds(SOON)),
    )?;
    say("cost", format!("{cost}: what the site has seen is billed"))?;
    say("healed", format!("after {}: each came again when it had been told to", seconds(took)))?;

    check(parked > 0, "there should be too many for the lane")?;
    scene.check_pages()
}

fn shop(fleet: &Snapshot) -> Option<&OriginSnapshot> {
    fleet.origins.iter().find(|origin| origin.origin.as_str() == SHOP)
}
