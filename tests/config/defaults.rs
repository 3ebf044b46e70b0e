//! What is not said is as documented.

use std::fmt::Debug;
use tower_egress::scheduler::{Bounds, Builder};
use tower_egress::verdict::RetryRules;
use tower_egress::{ClassifyLayer, Config, EgressLayer, LeaseRequest, Scheduler, Site};

/// Every default, as the types document them.
const DOCUMENTED: &str = r#"
    [request]
    granularity = "windowed"
    window = "600s"
    affinity = "key"
    exclusive = false
    freshness = "keep"
    deadline = "120s"
    patience = "30s"

    [retry]
    preset = "default"
    max_attempts = 4
    replay_cap = 65536

    [classify]
    attempt_timeout = "30s"
    body_idle_timeout = "30s"

    [bounds]
    leases = 1_000_000
    waiters = 10_000
    origins = 65_536
    pairs = 262_144
    bindings = 1_000_000
    minted = 10_000
    events = 4_096
"#;

const CLIENT: &str = r#"
    [client]
    connect_timeout = "10s"
    tunnel_timeout = "12s"
    tls_timeout = "10s"
    establish_timeout = "15s"
    idle_timeout = "15s"
    max_idle = 1000
    tunnel_http = false
    http2 = true
"#;

const POOL: &str = "[[pool]]\nname = 'dc'\nproxies = ['203.0.113.7:8080']\n";
const SITE: &str = "[[site]]\norigin = 'shop.example'\n";

fn shown(value: &impl Debug) -> String {
    format!("{value:#?}")
}

/// All that a configuration makes.
fn made(text: &str) -> Vec<String> {
    let config = Config::parse(text).unwrap();
    vec![
        shown(&config.builder()),
        shown(&config.classify()),
        shown(&config.lease("k")),
        #[cfg(feature = "client")]
        shown(&config.client()),
    ]
}

#[test]
fn te_083_every_way_to_the_defaults_gives_the_documented_values() {
    let empty = made("");
    let built = [
        [shown(&Builder::default()), shown(&Scheduler::builder())],
        [shown(&ClassifyLayer::new()), shown(&ClassifyLayer::default())],
        [shown(&LeaseRequest::new("k")), shown(&LeaseRequest::new("k"))],
    ];
    for (empty, built) in empty.iter().zip(built) {
        assert_eq!([empty, empty], [&built[0], &built[1]]);
    }
    #[cfg(feature = "client")]
    assert_eq!(empty[3], shown(&tower_egress::ExitClient::builder()));
    assert_eq!(made(DOCUMENTED), empty);
    #[cfg(feature = "client")]
    assert_eq!(made(CLIENT), empty);
    let _ = CLIENT;
    for (short, long) in [
        (POOL.to_owned(), format!("{POOL}weight = 1\nmin_interval = '0s'\n")),
        (SITE.to_owned(), format!("{SITE}escalate_at = 0.3\nquiet = '600s'\napi = false\nstatuses = {{}}\n")),
    ] {
        assert_eq!(made(&short), made(&long));
    }
    assert_eq!(
        (RetryRules::default().max_sends(), Bounds::default()),
        (4, Bounds::default().waiters(10_000))
    );
    assert_eq!(Site::new(), Site::default());
}

#[test]
fn each_key_changes_what_it_names() {
    let empty = made("");
    let of_builder = [
        "seed = 1",
        "classes.prices = 3",
        "member = { index = 1, of = 2 }",
        "bounds.leases = 1",
        "bounds.waiters = 1",
        "bounds.origins = 1",
        "bounds.pairs = 1",
        "bounds.bindings = 1",
        "bounds.minted = 1",
        "bounds.events = 1",
        "retry.preset = 'article'",
        "retry.preset = 'negotiated'",
        "retry.max_attempts = 1",
        "retry.retries_per_success = 1",
        POOL,
        SITE,
    ];
    let of_classify = [
        "classify.attempt_timeout = '1s'",
        "classify.body_idle_timeout = '1s'",
        "classify.collect = 1",
        "classify.pages = false",
    ];
    let of_request = [
        "request.granularity = 'per_request'",
        "request.granularity = 'static'",
        "request.window = '1s'",
        "request.max_uses = 1",
        "request.affinity = 'origin'",
        "request.affinity = 'round_robin'",
        "request.scope = 'all_origins'",
        "request.on_loss = 'wait'",
        "request.exclusive = true",
        "request.freshness = 'fresh'",
        "request.deadline = '1s'",
        "request.patience = '0s'",
        "request.attempts = 1",
        "request.repeatable = true",
        "request.country = 'de'",
    ];
    let of_client = [
        "client.connect_timeout = '1s'",
        "client.tunnel_timeout = '1s'",
        "client.tls_timeout = '1s'",
        "client.establish_timeout = '1s'",
        "client.idle_timeout = '0s'",
        "client.max_idle = 0",
        "client.tunnel_http = true",
        "client.http2 = false",
    ];
    let of_client = if cfg!(feature = "client") { &of_client[..] } else { &[] };
    let keys = [&of_builder[..], &of_classify, &of_request, of_client];
    for (part, keys) in keys.into_iter().enumerate() {
        for key in keys {
            let changed: Vec<_> = made(key).iter().zip(&empty).map(|(now, before)| now != before).collect();
            let only: Vec<_> = (0..empty.len()).map(|at| at == part).collect();
            assert_eq!(changed, only, "{key}");
        }
    }
    for key in [
        "kind = 'isp'",
        "country = 'de'",
        "vendor = 'tor'",
        "weight = 2",
        "price_per_gb = 1",
        "max_in_flight = 1",
        "min_interval = '1s'",
    ] {
        assert_ne!(made(&format!("{POOL}{key}")), made(POOL), "{key}");
    }
    for key in [
        "pools = ['dc']",
        "escalate_at = 0.5",
        "quiet = '1s'",
        "api = true",
        "statuses = { 420 = 'rate_limited' }",
    ] {
        assert_ne!(made(&format!("{POOL}{SITE}{key}")), made(&format!("{POOL}{SITE}")), "{key}");
    }
}

#[test]
fn the_layers_are_those_of_the_file() {
    let scheduler = Config::parse(POOL).unwrap().builder().seed(1).build().unwrap();
    let layer = |text: &str| shown(&Config::parse(text).unwrap().egress_layer(&scheduler));
    assert_eq!(layer(""), shown(&EgressLayer::new(&scheduler)));
    for key in [
        "classify.attempt_timeout = '1s'",
        "classify.body_idle_timeout = '1s'",
        "classify.collect = 1",
        "classify.pages = false",
        "retry.replay_cap = 0",
    ] {
        assert_ne!(layer(key), layer(""), "{key}");
    }
    // What needs no key of a request is what requests lease that say nothing; what needs one is not.
    for (key, leases) in
        [("granularity = 'per_request'", true), ("affinity = 'origin'", true), ("window = '5s'", false)]
    {
        assert_eq!(layer(&format!("request.{key}")) != layer(""), leases, "{key}");
    }
}
