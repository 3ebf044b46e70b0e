//! On sockets: each way to break has a name, is counted under it, and is gone on from.

use crate::shop::{place, read, request};
use http::{Method, StatusCode};
use tower::Layer;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::outcome::Phase;
use tower_egress::verdict::RetryRules;
use tower_egress::{EgressClient, EgressLayer, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler};

/// Asks until the broken exit, the first of two, has been met; returns what it showed and how the request ended.
async fn met(lab: &Lab, exits: ExitList, tls: bool) -> (Outcome, u16, Scheduler) {
    let scheduler =
        Scheduler::builder().exits(exits.clone()).seed(7).rules(RetryRules::negotiated()).build().unwrap();
    let sockets = ExitClient::builder()
        .roots_pem(lab.ca_pem().as_bytes())
        .resolver(|_: String| async { Err(std::io::Error::other("no such name")) })
        .build()
        .unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(sockets));
    let url = if tls { lab.tls_url("/p") } else { lab.url("/p") };
    for _ in 0..100 {
        let ask = LeaseRequest::per_request();
        let (status, served) = read(client.send(request(Method::GET, &url, "", ask)).await.unwrap()).await;
        let trail = served.trail();
        if place(&exits, trail[0].exit) == 0 {
            assert_eq!(
                (trail.len(), place(&exits, trail[1].exit)),
                (2, 1),
                "through the other exit: {trail:?}"
            );
            return (trail[0].outcome, status, scheduler);
        }
    }
    panic!("the broken exit is never chosen")
}

#[tokio::test]
async fn c33_each_way_to_break_is_named_counted_and_gone_on_from() {
    let says = |reply| Behaviour::fine().answer_connect(reply);
    let broken = |phase| Outcome::ProxyError { phase };
    for (behaviour, tls, expected) in [
        (Behaviour::dead(), true, broken(Phase::ExitTcp)),
        (says(Reply::reset()), true, broken(Phase::Tunnel)),
        // A tunnel that is closed where the handshake should be.
        (says(Reply::new(StatusCode::OK)), true, broken(Phase::OriginTls)),
        (
            Behaviour::fine().answer_requests(Reply::reset()),
            false,
            Outcome::Interrupted { phase: Phase::Head },
        ),
    ] {
        let lab = Lab::builder().exit(behaviour).fine(1).start().await.unwrap();
        let (outcome, status, scheduler) = met(&lab, lab.exits(), tls).await;
        assert_eq!((outcome, status), (expected, 200));
        let counts = scheduler.snapshot().outcomes;
        let counted = counts.named().into_iter().find(|(name, _)| *name == expected.name()).unwrap().1;
        assert_eq!((counted, counts.total()), (1, counts.ok + 1), "{counts:?}");
    }
}

#[tokio::test]
async fn c33_an_exit_whose_name_is_not_found_is_gone_on_from() {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    let fine = lab.exit(0).exit().route().clone();
    let list = format!("nowhere.example:1\n{}:{}", fine.host(), fine.port());
    let (outcome, status, scheduler) = met(&lab, ExitList::parse(&list).unwrap(), true).await;
    assert_eq!((outcome, status), (Outcome::ProxyError { phase: Phase::ExitDns }, 200));
    assert_eq!(scheduler.snapshot().outcomes.proxy_error, 1);
}
