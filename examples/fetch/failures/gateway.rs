//! An overloaded gateway: it is left alone as a whole, and its exits are not charged.

use super::scene::{AT_ONCE, DELAY, Scene, now, when};
use super::{Shown, check, say, seconds};
use http::StatusCode;
use std::time::Duration;
use tokio::time::sleep;
use tower_egress::lab::{Lab, Mood, Provider, Reply};

/// How long it is overloaded.
const OVERLOAD: Duration = Duration::from_secs(2);

/// With a hint it says 429, without one 503.
pub(super) async fn overloads(hint: Option<Duration>) -> Shown {
    let working = Mood::fine().slow(DELAY);
    let mut scene = Scene::of(Lab::builder().gateway(Provider::sessions().mood(working.clone())))?;
    let (url, gateway) = (scene.world.tls_url("/p"), scene.world.gateway().clone());
    scene.round(&url).await;
    let (sessions, passed) = (gateway.sessions().len(), gateway.passed());
    scene.begin();

    let (words, refusal) = match hint {
        None => ("503".to_owned(), Reply::new(StatusCode::SERVICE_UNAVAILABLE)),
        Some(hint) => (
            format!("429, Retry-After {}", hint.as_secs()),
            Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(hint),
        ),
    };
    gateway.behave(Mood::answers(refusal).slow(DELAY))?;
    let begun = now();
    let recovers = async {
        sleep(OVERLOAD).await;
        gateway.behave(working)
    };
    let healed = when(|| gateway.passed() > passed);
    let scheduler = scene.scheduler.clone();
    let held = async {
        when(|| scheduler.snapshot().exits.held > 0).await;
        scheduler.snapshot().exits.held
    };
    let (recovered, healed, held, _) = tokio::join!(recovers, healed, held, scene.round(&url));
    recovered?;

    let (fleet, cost, took) = (scene.scheduler.snapshot(), scene.cost(), seconds(healed - begun));
    let charged = fleet.exits.dead + fleet.origins.iter().map(|origin| origin.benched).sum::<u32>();
    let vain = gateway.refusals().values().sum::<u64>().saturating_sub(AT_ONCE.into());
    let waited = seconds(scene.longest_wait());
    say("happened", format!("for {} the gateway answers CONNECT with {words}", seconds(OVERLOAD)))?;
    say("requests", format!("{AT_ONCE} met that, and came through after {waited} at the latest"))?;
    say(
        "scheduler",
        format!("the gateway is left alone: all {held} exits behind it wait; {charged} are charged"),
    )?;
    say("", format!("after each rest 1 request tries it, {vain} in vain"))?;
    say("cost", format!("{cost}: a refused tunnel bills nothing"))?;
    say("healed", format!("after {took}, with the same {sessions} sessions"))?;

    check(charged == 0 && gateway.sessions().len() == sessions, "its exits should be as they were")?;
    check(cost.billed == cost.asked, "something was billed that is no page")?;
    scene.check_pages()
}
