//! What a decision costs: nanoseconds, instructions and allocations. `benches/README.md` has the commands and the figures.

use crate::measure::{Case, Cost, Round, Table};
use governor::{Quota, RateLimiter};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::fmt::Write as _;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};
use tower_egress::outcome::{Connection, RetryAfter};
use tower_egress::verdict::RetryRules;
use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler, Site, classify};

pub(crate) const TABLE: Table = Table { name: "decisions", cases, first: || {}, holds: flat };

/// How many exits there are, and how many of a hundred are usable.
const EXITS: [usize; 3] = [100, 10_000, 100_000];
const USABLE: [usize; 4] = [100, 50, 5, 1];

/// At each share of usable exits, how many percent more the dearest number of exits may cost than the cheapest. Of a hundred
/// exits one is usable at 1 %: there is no second one to look for, which makes that cheaper.
const FLAT: [u64; 4] = [10, 10, 10, 18];

fn scheduler(exits: usize, rules: RetryRules) -> Scheduler {
    let list = (0..exits).fold(String::new(), |mut list, at| {
        writeln!(list, "10.{}.{}.{}:8080", at >> 16 & 255, at >> 8 & 255, at & 255)
            .expect("a string takes it");
        list
    });
    let exits = ExitList::parse(&list).expect("a list");
    Scheduler::builder().exits(exits).rules(rules).seed(7).build().expect("exits")
}

fn sticky(keys: usize) -> Round {
    let scheduler = scheduler(100, RetryRules::default());
    let asks: Vec<_> =
        (0..keys).map(|key| LeaseRequest::new(format!("sku-{key:08}")).origin("shop.example")).collect();
    let mut at = 0;
    let mut round = move || {
        let lease = scheduler.lease(black_box(&asks[at])).expect("an exit is usable");
        lease.report(Outcome::Ok);
        at = (at + 1) % keys;
    };
    (0..keys).for_each(|_| round());
    Box::new(round)
}

/// Picks among `exits`, of which all but `usable` rest at the site, for longer than any bench. By the article's rules: the others
/// would learn from so many limits how seldom the site wants its exits used.
fn pick(exits: usize, usable: usize) -> Round {
    let scheduler = scheduler(exits, RetryRules::article());
    let ask = LeaseRequest::per_request().origin("shop.example");
    let limited = Outcome::RateLimited { retry_after: Some(RetryAfter::new(Duration::from_secs(3_600))) };
    for _ in usable..exits {
        let lease = scheduler.lease(&ask).expect("an exit is usable");
        lease.report(limited);
    }
    let round = move || {
        let lease = scheduler.lease(black_box(&ask)).expect("an exit is usable");
        lease.report(Outcome::Ok);
    };
    (0..1_000).for_each(|_| round());
    Box::new(round)
}

/// A well-kept keyed rate limiter, as a measure of what a keyed decision may cost.
fn peer(keys: usize) -> Round {
    let limiter = RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX));
    let keys: Vec<_> = (0..keys).map(|key| format!("sku-{key:08}")).collect();
    let mut at = 0;
    let mut round = move || {
        let _ = black_box(limiter.check_key(black_box(&keys[at])));
        at = (at + 1) % keys.len();
    };
    (0..1_000).for_each(|_| round());
    Box::new(round)
}

/// A head of twelve headers, as walls and shops send them.
fn headers() -> HeaderMap {
    let lines = [
        ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ("content-type", "text/html; charset=utf-8"),
        ("content-length", "5120"),
        ("connection", "keep-alive"),
        ("cache-control", "private, max-age=0, no-store, no-cache"),
        ("server", "cloudflare"),
        ("cf-ray", "8245c3b2ad6f1a2b-FRA"),
        ("set-cookie", "__cf_bm=x; path=/; HttpOnly"),
        ("x-frame-options", "SAMEORIGIN"),
        ("x-content-type-options", "nosniff"),
        ("strict-transport-security", "max-age=15552000"),
        ("vary", "Accept-Encoding"),
    ];
    lines
        .iter()
        .map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value)))
        .collect()
}

/// Names the outcome of a head that came through a tunnel.
fn classify(status: u16, site: Option<Site>) -> Round {
    let (headers, over) = (headers(), Connection::new().tunnelled(true));
    let status = StatusCode::from_u16(status).expect("a status");
    Box::new(move || {
        let (headers, site) = (black_box(&headers), black_box(site.as_ref()));
        black_box(classify::head(black_box(status), headers, None, &over, site, SystemTime::UNIX_EPOCH));
    })
}

/// Searches 16 KiB of a shop's page that came with a refusal.
fn search() -> Round {
    let (headers, mut page) = (headers(), String::new());
    for at in 0.. {
        writeln!(
            page,
            "<div class=\"item-{at}\" data-sku=\"{at}\"><a href=\"/p/{at}?ref=list\">Enter Product {at}</a><script \
             src=\"https://cdn.shop.example/challenge-{at}.js\"></script><p>Price: 9.{at} EUR, Request, Access</p></div>"
        )
        .expect("a string takes it");
        if page.len() >= 16 << 10 {
            break;
        }
    }
    page.truncate(16 << 10);
    Box::new(move || {
        let said =
            classify::page(StatusCode::SERVICE_UNAVAILABLE, &headers, black_box(page.as_bytes()), false);
        assert_eq!(black_box(said), None);
    })
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("head of a 200, 12 headers", || classify(200, None)).within(300, 0),
        Case::new("head of a 403, 12 headers", || classify(403, None)).within(1_690, 0),
        Case::new("head of a 403 at a site that names it", || {
            classify(403, Some(Site::new().status(403, Outcome::Ok).status(420, Outcome::Fatal)))
        })
        .within(1_710, 0),
        Case::new("page of 16 KiB, searched for all marks", search).within(225_000, 0),
        Case::new("sticky hit + report(ok), 1k keys", || sticky(1_000)).within(1_790, 0),
        Case::new("sticky hit + report(ok), 1M keys", || sticky(1_000_000)).within(1_960, 0),
        Case::new("peer: governor, keyed check, 1k keys", || peer(1_000)),
        Case::new("peer: governor, keyed check, 1M keys", || peer(1_000_000)),
    ];
    for share in USABLE {
        for exits in EXITS {
            let name = format!("pick + report(ok), {exits} exits, {share} % usable");
            let most = match share {
                100 => 2_120,
                50 => 2_660,
                5 => 4_610,
                _ => 5_680,
            };
            let case = Case::new(name, move || pick(exits, exits * share / 100)).within(most, 0);
            cases.push(Case { gated: exits < 100_000, ..case });
        }
    }
    cases
}

/// Whether a pick costs the same whatever the number of exits.
fn flat(costs: &[Option<Cost>]) -> bool {
    let picks = &costs[costs.len() - EXITS.len() * USABLE.len()..];
    let mut flat = true;
    for ((share, most_more), picks) in USABLE.iter().zip(FLAT).zip(picks.chunks(EXITS.len())) {
        let counted = || picks.iter().flatten().map(|cost| cost.instructions);
        let (Some(least), Some(most)) = (counted().min(), counted().max()) else { return false };
        let more = (most - least) * 100 / least;
        println!("{share:>3} % usable: {more} % more instructions at the dearest number of exits");
        flat &= more <= most_more;
    }
    flat
}
