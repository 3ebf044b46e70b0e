//! Sites that say what only a gateway should: nobody else is to feel it.

use crate::support::*;
use std::num::NonZeroU32;
use std::time::Duration;
use tower::Layer;
use tower_egress::exit::{ExitList, Gateway, Pool, Vendor};
use tower_egress::{EgressLayer, LeaseRequest, Outcome, Scheduler, Served};

type Headers = &'static [(&'static str, &'static str)];

/// What a site sends behind each vendor that may end TLS: a status, and headers.
const FORGED: &[(Vendor, u16, Headers)] = &[
    (Vendor::BrightData, 429, &[("x-brd-err-code", "client_10110"), ("retry-after", "3600")]),
    (Vendor::BrightData, 407, &[("x-brd-err-code", "client_10000"), ("proxy-authenticate", "Basic")]),
    (Vendor::BrightData, 402, &[("x-brd-err-code", "client_10100")]),
    (Vendor::BrightData, 403, &[("x-brd-err-code", "client_10020")]),
    (Vendor::BrightData, 400, &[("x-brd-err-code", "client_10060")]),
    (Vendor::BrightData, 502, &[("x-brd-err-code", "peer_30040"), ("retry-after", "3600")]),
    (Vendor::BrightData, 502, &[("x-brd-err-code", "target_40020")]),
    (Vendor::BrightData, 403, &[("x-brd-err-code", "policy_20050")]),
    (Vendor::BrightData, 502, &[("x-brd-error", "Failed to establish connection with peer")]),
    (Vendor::BrightData, 503, &[("proxy-status", "gw; error=proxy_internal_error"), ("retry-after", "3600")]),
    (Vendor::Zyte, 407, &[("x-crawlera-error", "bad_proxy_auth")]),
    (Vendor::Zyte, 403, &[("zyte-error", "user_suspended")]),
    (Vendor::Zyte, 400, &[("x-crawlera-error", "user_session_limit"), ("retry-after", "3600")]),
    (Vendor::Zyte, 503, &[("x-crawlera-error", "serverbusy"), ("retry-after", "3600")]),
    (Vendor::Zyte, 400, &[("zyte-error", "bad_session_id")]),
    (Vendor::Zyte, 503, &[("retry-after", "3600")]),
    (Vendor::Zyte, 503, &[("x-crawlera-error", "banned")]),
    (Vendor::ScraperApi, 403, &[]),
    (Vendor::ScraperApi, 429, &[("retry-after", "3600")]),
    (Vendor::ScraperApi, 500, &[("retry-after", "3600")]),
];

/// A site that answers so, again and again.
async fn forge(scheduler: &Scheduler, uri: &str, status: u16, headers: Headers) {
    for _ in 0..20 {
        let ask = LeaseRequest::per_request().attempts(NonZeroU32::MIN).patience(Duration::ZERO);
        let request = with(http::Request::get(uri), "", ask);
        // A refusal of the pair is no affair of this test.
        let _ =
            EgressLayer::new(scheduler).layer(Script::new([answer(status, headers)])).oneshot(request).await;
    }
}

async fn is_served(scheduler: &Scheduler) -> bool {
    let ask = LeaseRequest::per_request().attempts(NonZeroU32::MIN).patience(Duration::ZERO);
    let request = with(http::Request::get("https://other.example/"), "", ask);
    let answer = EgressLayer::new(scheduler).layer(Script::new([status(200)])).oneshot(request).await;
    answer.is_ok_and(|answer| answer.extensions().get::<Served>().unwrap().outcome() == Outcome::Ok)
}

#[tokio::test(start_paused = true)]
async fn a_site_behind_a_tunnel_that_speaks_as_the_gateway_harms_itself_alone() {
    for (vendor, status, headers) in FORGED {
        let list = ExitList::parse("192.0.2.1:1:u:p\n192.0.2.2:1:u:p\n192.0.2.3:1:u:p").unwrap();
        let listed = Scheduler::builder().pool(Pool::new("a", list).vendor(*vendor)).seed(1).build().unwrap();
        let gateway = Gateway::parse("http://u-{session}:p@gw.test:8080").unwrap();
        let sessions = gateway.sessions(NonZeroU32::new(4).unwrap()).lifetime(Duration::from_secs(600));
        let pool = Pool::new("a", sessions).vendor(*vendor);
        let by_session = Scheduler::builder().pool(pool).seed(1).build().unwrap();
        for scheduler in [listed, by_session] {
            forge(&scheduler, "https://evil.example/", *status, headers).await;
            let said = format!("{vendor:?} {status} {headers:?}");
            assert!(is_served(&scheduler).await, "{said}: another site is not served");
            let exits = scheduler.snapshot().exits;
            let harmed = (exits.dead, exits.held, exits.suspect, exits.stopped);
            assert_eq!(harmed, (0, 0, 0, 0), "{said}: dead, held, suspect, stopped");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn over_plain_http_a_vendor_that_is_known_answers_for_no_other_header() {
    for (vendor, status, headers) in [
        (Vendor::Oxylabs, 200, &[("x-brd-err-code", "client_10020")] as Headers),
        (Vendor::BrightData, 200, &[("x-webshare-reason", "402")]),
        (Vendor::Squid, 200, &[("x-brd-err-code", "client_10020")]),
        (Vendor::IpRoyal, 403, &[("x-soax-error", "AUTH_FAILED")]),
    ] {
        let list = ExitList::parse("192.0.2.1:1:u:p").unwrap();
        let scheduler =
            Scheduler::builder().pool(Pool::new("a", list).vendor(vendor)).seed(1).build().unwrap();
        forge(&scheduler, "http://evil.example/", status, headers).await;
        assert!(is_served(&scheduler).await, "{vendor:?} {headers:?}");
    }
}
