//! No secret in anything that prints, and what the events say.

use crate::support::*;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use std::fmt::Write;
use std::time::Duration;
use tower::{Layer, Service, ServiceExt};
use tower_egress::outcome::{Failure, Phase, Seen};
use tower_egress::{EgressLayer, ExitList, LeaseHandle, LeaseRequest, Outcome, Scheduler, Served};

const USER: &str = "customer-oscar";
const PASSWORD: &str = "hunter2";
const URI: &str = "https://shop.example/";

fn secret_scheduler() -> Scheduler {
    listen();
    let list: String = (1..=8).map(|i| format!("192.0.2.{i}:8080:{USER}:{PASSWORD}\n")).collect();
    Scheduler::builder().exits(ExitList::parse(&list).unwrap()).seed(1).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn c19_no_secret_prints_whatever_fails() {
    let mut out = String::new();
    let scheduler = secret_scheduler();
    let echo = |status| {
        let answer = http::Response::builder().status(status).header("x-echo", PASSWORD);
        let answer = answer.body(Bytes::from_static(PASSWORD.as_bytes())).unwrap();
        Step::Fail(Failure::new(Phase::Tunnel, Seen::Never).refused(answer))
    };
    let steps = [
        echo(407),
        echo(503),
        echo(418),
        fail(Phase::ExitDns, Seen::Never),
        fail(Phase::OriginTls, Seen::Never),
        fail(Phase::Head, Seen::Unknown),
        Step::Unknown,
        Step::Hang,
        answer(407, &[("proxy-authenticate", "Basic")]),
        answer(403, &[("x-echo", PASSWORD)]),
        page(200, [Part::Data("x"), Part::Error]),
    ];
    for step in steps {
        let layer = EgressLayer::new(&scheduler).attempt_timeout(Duration::from_secs(1));
        // A POST, so that each failure is the last.
        let request = with(Request::post(URI), "a=1", LeaseRequest::new("sku-42").repeatable(false));
        let script = Script::new([step, status(200), status(200)]);
        let stack = layer.layer(script);
        write!(out, "{layer:?} {request:?}").unwrap();
        match stack.oneshot(request).await {
            Err(error) => write!(out, "{error} {error:?} {error:#?}").unwrap(),
            Ok(response) => {
                let served = response.extensions().get::<Served>().unwrap().clone();
                let body = response.into_body();
                write!(out, "{served:?} {:?} {body:?}", served.trail()).unwrap();
                if let Err(error) = body.collect().await {
                    write!(out, "{error} {error:?}").unwrap();
                }
            }
        }
    }
    let ask = LeaseRequest::new("sku-42").origin("other.example");
    let lease = scheduler.lease(&ask).unwrap();
    write!(
        out,
        "{scheduler:?} {lease:?} {:?} {:?} {:?}",
        lease.route(),
        lease.receipt(),
        scheduler.snapshot()
    )
    .unwrap();
    let log = heard();
    assert!(log.contains("interrupted") && out.len() > 4_000, "there is something to find it in");
    let encoded = "Y3VzdG9tZXItb3NjYXI6aHVudGVyMg";
    for secret in [USER, PASSWORD, encoded] {
        assert!(!out.contains(secret), "{secret} in {out}");
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a20_each_lease_report_and_refusal_is_an_event() {
    let scheduler = scheduler(1);
    let ask = LeaseRequest::new("sku-42").origin("shop.example");
    let lease = scheduler.lease(&ask).unwrap();
    let exit = lease.exit();
    lease.report(Outcome::Ok);
    lease.report(Outcome::RateLimited { retry_after: None });
    drop(lease);
    scheduler.lease(&ask).unwrap_err();
    let log = heard();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 5, "{log}");
    let has = |line: &str, all: &[&str]| all.iter().all(|part| line.contains(part));
    let (exit, origin) = (format!("exit={exit}"), "origin=shop.example");
    assert!(
        has(lines[0], &["message=lease", "key=sku-42", origin, &exit, "generation=0", "reason=\"placed\""]),
        "{log}"
    );
    assert!(has(lines[1], &["message=report", origin, &exit, "outcome=ok", "amends=false"]), "{log}");
    assert!(has(lines[2], &["outcome=rate_limited", "amends=true"]), "{log}");
    assert!(has(lines[3], &["message=rest", &exit, "origin=\"shop.example\"", "rest=Some(1."]), "{log}");
    assert!(
        has(lines[4], &["message=refusal", "key=sku-42", origin, "why=\"no_usable_exit\"", "1 cooling"]),
        "{log}"
    );
}

#[tokio::test(start_paused = true)]
async fn b22_a_fleet_that_asks_too_hard_is_told_so_once_and_when_it_is_over() {
    let scheduler = scheduler(4);
    let ask = LeaseRequest::per_request().origin("shop.example");
    let attempts = async |outcome: Outcome| {
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(500)).await;
            scheduler.lease(&ask).unwrap().report(outcome);
        }
    };
    // Said to one request: a site that says of itself that it is down is left alone as a whole.
    let failed = Outcome::OriginError { status: http::StatusCode::REQUEST_TIMEOUT };
    for _ in 0..3 {
        attempts(failed).await;
    }
    let alarms = |log: &str| log.lines().filter(|line| line.contains("asks too hard")).count();
    let log = heard();
    assert_eq!(alarms(&log), 1, "{log}");
    let alarm = log.lines().find(|line| line.contains("asks too hard")).unwrap();
    for part in
        ["lower its concurrency, do not tune single backoffs", "multiplier=2", "successes=0", "shop.example"]
    {
        assert!(alarm.contains(part), "{alarm}");
    }
    for _ in 0..4 {
        attempts(Outcome::Ok).await;
    }
    let log = heard();
    let over = log.lines().find(|line| line.contains("asks too hard no more")).unwrap();
    assert!(over.contains("multiplier=1.0") && alarms(&log) == 1, "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_service_below_finds_the_lease_and_prints_no_secret() {
    let scheduler = secret_scheduler();
    let client = tower::service_fn(|request: Request<_>| async move {
        let handle = request.extensions().get::<LeaseHandle>().unwrap();
        assert_eq!(handle.route(), request.extensions().get::<tower_egress::exit::Route>().unwrap());
        assert_eq!((handle.origin().as_str(), handle.generation()), ("shop.example", Some(0)));
        assert!(!format!("{handle:?} {:?}", request.extensions()).contains(PASSWORD));
        Ok::<_, ClientError>(http::Response::new(Page::default()))
    });
    let request = with(Request::get(URI), "", LeaseRequest::new("sku-42"));
    EgressLayer::new(&scheduler).layer(client).ready().await.unwrap().call(request).await.unwrap();
}
