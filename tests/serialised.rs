//! The snapshot and the events as data: their shape, and that no secret is in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use std::time::Duration;
use tower_egress::outcome::{AuthReason, BlockedBy, WireBytes};
use tower_egress::scheduler::Event;
use tower_egress::{ExitList, Gateway, LeaseRequest, Outcome, Scheduler};

const USER: &str = "customer-oscar";
const PASSWORD: &str = "hunter2";
const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };

fn scheduler(exits: u8) -> Scheduler {
    let list: String = (1..=exits).map(|i| format!("192.0.2.{i}:8080:{USER}:{PASSWORD}\n")).collect();
    Scheduler::builder().exits(ExitList::parse(&list).unwrap()).seed(1).build().unwrap()
}

fn data(scheduler: &Scheduler) -> Value {
    serde_json::to_value(scheduler.snapshot()).unwrap()
}

fn per() -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.example")
}

fn names(value: &Value) -> String {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names.join(" ")
}

#[tokio::test(start_paused = true)]
async fn a25_a_snapshot_is_data_with_the_names_of_its_fields() {
    let scheduler = scheduler(4);
    for outcome in [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::Ok, BLOCKED] {
        scheduler.lease(&per()).unwrap().report(outcome);
    }
    tokio::time::advance(Duration::from_millis(1_500)).await;
    let lease = scheduler.lease(&per()).unwrap();
    let data = data(&scheduler);
    let exits = json!({ "total": 4, "dead": 0, "quarantined": 0, "held": 0, "suspect": 0, "stopped": 0, "sessions": 0 });
    assert_eq!((&data["exits"], &data["age"]), (&exits, &json!(1.5)));
    assert_eq!(
        (&data["leases"], &data["in_flight"], &data["exits_in_use"]),
        (&json!(6), &json!(1), &json!(1))
    );
    let multiplier = json!({ "attempts": 5, "successes": 4, "value": 1.25, "band": "attention" });
    assert_eq!(
        (&data["multiplier"], &data["lately"], &data["alarm"]),
        (&multiplier, &Value::Null, &json!(false))
    );
    assert_eq!((&data["outcomes"]["ok"], &data["outcomes"]["blocked"]), (&json!(4), &json!(1)));
    assert_eq!(data["refusals"]["last"]["cooling"], json!(0));
    let origin = &data["origins"][0];
    assert_eq!((&origin["origin"], &origin["leases"]), (&json!("shop.example"), &json!(6)));
    let spread = json!({
        "attempts": 1, "blocked": 1, "exits": 1, "one_in": 1, "share": 1.0, "z": null,
        "verdict": "unclear", "confirmed": false, "worst": [],
    });
    assert_eq!(origin["spread"], spread);
    let pair = &data["hottest"][0];
    assert_eq!(pair["exit"].as_str().unwrap().len(), 16, "an id as it is printed: {pair}");
    assert!((8.0..11.5).contains(&pair["cooling"].as_f64().unwrap()), "seconds: {pair}");
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_renamed_breaks_who_reads_it() {
    let scheduler = scheduler(4);
    let lease = scheduler.lease(&per()).unwrap();
    lease.report(BLOCKED);
    lease.add_wire(WireBytes::new(30, 90));
    drop(lease);
    let data = data(&scheduler);
    assert_eq!((&data["wire"]["sent"], &data["busiest"][0]["share"]), (&json!(30), &json!(1.0)));
    for (value, known) in [
        (
            &data,
            "age alarm busiest classes events_lost exits exits_in_use forgotten gateways hottest in_flight lately leases multiplier origins \
             outcomes parked pools refusals uncooled waiting wire",
        ),
        (
            &data["origins"][0],
            "benched diagnosis gap heat held lately leases limit origin outcomes pool spread wire",
        ),
        (&data["hottest"][0], "cooling exit heat line origin"),
        (&data["forgotten"], "leases origins outcomes wire"),
        (
            &data["refusals"],
            "behind busy closed last moved no_usable_exit origin_held_by_failures origin_held_by_limit stopped",
        ),
        (
            &data["outcomes"],
            "auth_error blocked fatal gateway_overloaded interrupted ok origin_error proxy_error rate_limited \
             session_lost target_denied target_failed target_unreachable too_large",
        ),
        (&data["busiest"][0], "exit line share wire"),
        (&data["pools"][0], "cost exits leases name wire"),
        (&data["wire"], "received sent"),
    ] {
        assert_eq!(names(value), known);
    }
}

#[tokio::test(start_paused = true)]
async fn a27_the_spread_is_data_too() {
    let scheduler = scheduler(20);
    // A bad exit is asked by many at once, before the first of them hears of it.
    let leases: Vec<_> = (0..200).map(|_| scheduler.lease(&per()).unwrap()).collect();
    let bad = leases[0].exit();
    for lease in &leases {
        let worse = lease.exit() == bad || lease.exit().as_u64() % 5 == 0;
        lease.report(if worse { BLOCKED } else { Outcome::Ok });
    }
    drop(leases);
    let spread = data(&scheduler)["origins"][0]["spread"].clone();
    assert_eq!(spread["verdict"], json!("pool"), "{spread}");
    assert!(spread["z"].as_f64().unwrap() > 3.09, "{spread}");
    let worst = &spread["worst"][0];
    assert!(worst["exit"].is_string() && worst["attempts"] == worst["blocked"], "{spread}");
}

#[tokio::test(start_paused = true)]
async fn no_login_is_in_a_snapshot() {
    let gateway = Gateway::parse(&format!("http://{USER}-{{session}}:{PASSWORD}@gw.example:7000")).unwrap();
    let list = format!("192.0.2.1:8080:{USER}:{PASSWORD}\n192.0.2.2:8080:{USER}:{PASSWORD}");
    let exits = ExitList::parse(&list).unwrap();
    let scheduler = Scheduler::builder().exits(exits).gateway(gateway).seed(1).build().unwrap();
    let mut users = Vec::new();
    for turn in 0..60 {
        let ask = if turn % 2 == 0 {
            per()
        } else {
            LeaseRequest::new(format!("key-{turn}")).origin("shop.example")
        };
        let Ok(lease) = scheduler.lease(&ask) else { break };
        users.extend(lease.route().credential().map(|login| login.user().to_owned()));
        let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
        lease.report([Outcome::Ok, BLOCKED, Outcome::RateLimited { retry_after: None }, rejected][turn % 4]);
    }
    let text = serde_json::to_string(&scheduler.snapshot()).unwrap();
    assert!(text.len() > 1_000 && users.len() > 2, "there is something to find it in: {text}");
    for secret in users.iter().map(String::as_str).chain([USER, PASSWORD]) {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_data_too() {
    let (tell, told) = std::sync::mpsc::channel();
    let exits = ExitList::parse("203.0.113.7:8080").unwrap();
    let observer = move |_, event: &Event| tell.send(serde_json::to_value(event).unwrap()).unwrap();
    let scheduler = Scheduler::builder().exits(exits).observe(observer).build().unwrap();
    let ask = LeaseRequest::new("sku-42").origin("shop.example");
    let lease = scheduler.lease(&ask).unwrap();
    let exit = lease.exit().to_string();
    lease.report(Outcome::Blocked { by: BlockedBy::Exit });
    drop(lease);
    scheduler.lease(&ask).unwrap_err();
    let events: Vec<Value> = told.try_iter().collect();
    assert_eq!(
        events[0],
        json!({
            "event": "lease", "lease": 0, "key": "sku-42", "origin": "shop.example", "exit": exit, "generation": 0,
            "reason": { "name": "placed" }, "trial": false, "pool": "default",
        })
    );
    let blocked = json!({ "name": "blocked", "by": "exit" });
    assert_eq!((&events[1]["outcome"], &events[1]["lease"]), (&blocked, &json!(0)));
    assert!((1.25..1.6).contains(&events[2]["rest"].as_f64().unwrap()), "{}", events[2]);
    assert_eq!((&events[3]["why"], &events[3]["counts"]["cooling"]), (&json!("no_usable_exit"), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_forecast_is_data() {
    let list = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080").unwrap();
    let pool = tower_egress::Pool::new("dc", list).interval(Duration::from_secs(4));
    let forecast = Scheduler::builder().pool(pool).build().unwrap().forecast("shop.example");
    let expected = json!({
        "origin": "shop.example",
        "per_second": 0.5,
        "limited_by": { "exits": { "exits": 2 } },
        "served": 0.0,
    });
    assert_eq!(serde_json::to_value(&forecast).unwrap(), expected);
}
