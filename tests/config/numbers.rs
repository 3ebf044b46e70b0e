//! Numbers that cannot be meant.

use tower_egress::Config;

const POOL: &str = "[[pool]]\nname = 'dc'\nproxies = ['203.0.113.7:8080']\n";
const GATEWAY: &str = "[[pool]]\nname = 'gw'\n[pool.gateway]\nrotating = '203.0.113.7:8080'\n";
const SITE: &str = "[[site]]\norigin = 'shop.example'\n";

/// `u64::MAX` seconds, which is as long as a `Duration` can be but for a second.
const FOREVER: &str = "'18446744073709551615s'";
const NO_SPAN: [&str; 5] = [FOREVER, "'-1s'", "'nans'", "'1e400s'", "1.5"];
const NO_COUNT: [&str; 6] = ["0", "-1", "nan", "inf", "1.5", "4294967296"];

/// Each key of a head with each value is an error that names the key.
fn refuses(head: &str, table: &str, key: &str, values: &[&str]) {
    let path = [table, key].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    for value in values {
        let text = format!("{head}{key} = {value}\n");
        let error = Config::parse(&text).expect_err(&text);
        assert_eq!(error.field(), path, "{text}: {error}");
        let line = u32::try_from(head.lines().count() + 1).unwrap();
        assert_eq!(error.line(), Some(line), "{text}: {error}");
    }
}

#[test]
fn te_137_impossible_numbers_are_errors_that_name_the_field() {
    let shares = ["0", "0.0", "-0.1", "1.01", "101", "nan", "inf", "-inf", "'half'"];
    refuses(SITE, "site[0]", "escalate_at", &shares);
    refuses(SITE, "site[0]", "quiet", &["'0s'", "'999ms'", "'86401s'"]);
    refuses(SITE, "site[0]", "quiet", &NO_SPAN);
    refuses(POOL, "pool[0]", "weight", &["1001"]);
    refuses(POOL, "pool[0]", "weight", &NO_COUNT);
    refuses(POOL, "pool[0]", "price_per_gb", &["-0.01", "nan", "inf", "-inf", "1000001"]);
    refuses(POOL, "pool[0]", "max_in_flight", &NO_COUNT);
    refuses(POOL, "pool[0]", "min_interval", &["'86401s'"]);
    refuses(POOL, "pool[0]", "min_interval", &NO_SPAN);
    refuses(GATEWAY, "pool[0].gateway", "sessions", &["65537"]);
    refuses(GATEWAY, "pool[0].gateway", "sessions", &NO_COUNT);
    refuses(GATEWAY, "pool[0].gateway", "token_length", &["0", "3", "33", "256", "-1", "nan"]);
    refuses(GATEWAY, "pool[0].gateway", "lifetime", &["'0s'"]);
    refuses(GATEWAY, "pool[0].gateway", "lifetime", &NO_SPAN);
    refuses(GATEWAY, "pool[0].gateway", "ttl", &NO_SPAN);
    refuses("[retry]\n", "retry", "max_attempts", &NO_COUNT);
    refuses("[retry]\n", "retry", "retries_per_success", &["-0.01", "nan", "inf", "-inf", "2.1"]);
    refuses("[retry]\n", "retry", "replay_cap", &["-1", "nan"]);
    for key in ["leases", "waiters", "origins", "pairs", "bindings", "minted", "events"] {
        refuses("[bounds]\n", "bounds", key, &NO_COUNT);
    }
    // The setters of a lease request cannot refuse, and count less than a millisecond as one, where that is documented; a file
    // can.
    refuses("[request]\n", "request", "window", &["'0s'", "'999us'"]);
    for key in ["window", "deadline", "patience"] {
        refuses("[request]\n", "request", key, &NO_SPAN);
    }
    refuses("[request]\n", "request", "deadline", &["'0s'"]);
    for key in ["max_uses", "attempts"] {
        refuses("[request]\n", "request", key, &NO_COUNT);
    }
    for key in ["attempt_timeout", "body_idle_timeout"] {
        refuses("[classify]\n", "classify", key, &["'0s'"]);
        refuses("[classify]\n", "classify", key, &NO_SPAN);
    }
    refuses("[classify]\n", "classify", "collect", &["0", "-1", "nan"]);
    refuses("", "", "seed", &["-1", "nan", "1.5", "18446744073709551616"]);
}

#[cfg(feature = "client")]
#[test]
fn te_137_a_client_takes_no_impossible_time() {
    for key in ["connect_timeout", "tunnel_timeout", "tls_timeout", "establish_timeout"] {
        refuses("[client]\n", "client", key, &["'0s'"]);
    }
    for key in ["connect_timeout", "tunnel_timeout", "tls_timeout", "establish_timeout", "idle_timeout"] {
        refuses("[client]\n", "client", key, &NO_SPAN);
    }
    refuses("[client]\n", "client", "max_idle", &["-1", "nan"]);
}

#[test]
fn te_137_names_that_are_none_and_exits_given_twice_are_errors() {
    for (text, field) in [
        ("[[pool]]\nname = ''\nproxies = ['a.test:1']", "pool[0].name"),
        ("[[pool]]\nname = 'a b'\nproxies = ['a.test:1']", "pool[0].name"),
        ("[[pool]]\nname = 'a'\nproxies = ['a.test:1', '']", "pool[0].proxies[1]"),
        ("[[pool]]\nname = 'a'\nproxies = ['a.test:1', 'a.test:1']", "pool[0].proxies[1]"),
        ("[[pool]]\nname = 'a'\nproxies = ['a.test:1', 'http://A.test:1']", "pool[0].proxies[1]"),
        ("[[pool]]\nname = 'a'\nproxies = []", "pool[0]"),
        ("[[pool]]\nname = 'a'\nproxies = ['a.test:0']", "pool[0].proxies[0]"),
        ("[[pool]]\nname = 'a'\nproxies = ['a.test:65536']", "pool[0].proxies[0]"),
        ("member = { index = 0, of = 0 }", "member.index"),
        ("member = { index = 2, of = 2 }", "member.index"),
    ] {
        let error = Config::parse(text).expect_err(text);
        assert_eq!(error.field(), field, "{text}: {error}");
    }
}
