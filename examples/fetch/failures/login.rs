//! A dead login: the fleet stops before it bills anything, and waits for a person.

use super::request::Page;
use super::scene::{AT_ONCE, DELAY, SESSIONS, Scene, when};
use super::{Shown, check, say};
use std::time::Duration;
use tokio::time::sleep;
use tower_egress::lab::{Lab, Mood, Provider};
use tower_egress::{Error, Gateway, LeaseRequest, Next};

/// How long it takes until somebody comes.
const MINUTE: Duration = Duration::from_secs(60);

pub(super) async fn dies() -> Shown {
    let working = Mood::fine().slow(DELAY);
    let mut scene = Scene::of(Lab::builder().gateway(Provider::sessions().mood(working)))?;
    let (url, gateway) = (scene.world.tls_url("/p"), scene.world.gateway().clone());
    let account = || LeaseRequest::new("account-7").windowed(Duration::MAX);
    scene.round(&url).await;
    let session = scene.get(&url, account()).await.end?;
    // A login that was accepted in the last seconds is not doubted for one 407.
    sleep(MINUTE).await;
    scene.begin();

    gateway.set_login("user-{session}", "new")?;
    let scheduler = scene.scheduler.clone();
    let suspect = async {
        when(|| scheduler.snapshot().exits.suspect > 0).await;
        scheduler.snapshot().exits.suspect
    };
    let (suspect, pages) = tokio::join!(suspect, scene.round(&url));
    let (cost, fleet) = (scene.cost(), scene.scheduler.snapshot());
    let next = |page: &Page| page.end.as_ref().err().map(Error::next);
    let stopped = pages.iter().filter(|page| next(page) == Some(Next::WhenResumed)).count();
    say("happened", "the provider wants another password: it answers CONNECT with 407")?;
    say(
        "requests",
        format!("{AT_ONCE} met that; {stopped} end with the 407 and are told to wait for a person"),
    )?;
    let tries = cost.sent.saturating_sub(AT_ONCE.into());
    say(
        "scheduler",
        format!("all {suspect} exits with this login wait while {tries} attempt tries it again,"),
    )?;
    say(
        "",
        format!(
            "in vain: {} of {} exits are stopped, and nothing is sent",
            fleet.exits.stopped, fleet.exits.total
        ),
    )?;

    sleep(MINUTE).await;
    let refused = scene.get(&url, account()).await.end.err().ok_or("the fleet goes on")?;
    let cost = scene.cost();
    say("", "a minute later a request ends at once:")?;
    say("", format!("\"{refused}\""))?;
    say("cost", format!("{cost}: a refused login bills nothing"))?;
    check(suspect == SESSIONS.get(), "all exits should wait for the one attempt")?;
    check(refused.next() == Next::WhenResumed && stopped == pages.len(), "all should wait for a person")?;
    check(cost.sent == u64::from(AT_ONCE) + 1 && cost.billed == 0, "nothing more should be sent")?;

    scene.begin();
    let renewed = Gateway::parse(&gateway.template())?;
    check(scene.scheduler.operator().set_gateway(&renewed), "the gateway should be known")?;
    scene.round(&url).await;
    let again = scene.get(&url, account()).await.end?;
    let cost = scene.cost();
    say("healed", "by hand: Operator::set_gateway with the new password, or resume if the old one is right")?;
    say("", format!("1 attempt tries it, then all go on: {cost};"))?;
    say("", "keys have the sessions that they had")?;
    check(again == session, "a new password should keep sessions")?;
    check(cost.sent == cost.asked && cost.billed == cost.asked, "one attempt a page should do")?;
    scene.check_pages()
}
