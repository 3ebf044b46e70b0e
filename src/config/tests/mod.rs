//! Secrets from elsewhere, and errors that name the place and repeat nothing.

mod secrets;

use super::Config;
use super::places::is_word;
use crate::error::ConfigError;
use crate::exit::Gateway;
use std::env::VarError;
use std::path::Path;

/// What no message may contain.
const SECRET: &str = "hunter2";

fn env(name: &str) -> Result<String, VarError> {
    match name {
        "PASSWORD" => Ok(format!("{SECRET}-env")),
        "LIST" => Ok(format!("203.0.113.1:8080:u:{SECRET}\n# nothing\n203.0.113.2:8080\n")),
        "BAD_LIST" => Ok(format!("203.0.113.1:8080\nu:{SECRET}@\n")),
        "SPEC" => Ok(format!("http://u:{SECRET}@203.0.113.3:8080")),
        "TEMPLATE" => Ok(format!("http://u-{{session}}:{SECRET}@gw.example:7000")),
        "BAD_TEMPLATE" => Ok(format!("http://u:{SECRET}@gw.example:7000")),
        "EMPTY" => Ok(String::new()),
        "BLANK" => Ok(" \n".into()),
        "LINES" => Ok(format!("{SECRET}\n")),
        "BYTES" => Err(VarError::NotUnicode(SECRET.into())),
        _ => Err(VarError::NotPresent),
    }
}

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::read(text, Some(Path::new("conf/egress.toml")), &env)
}

/// The message of a text that must not be read.
fn refused(text: &str) -> String {
    let error = read(text).expect_err(text);
    let (shown, debug) = (error.to_string(), format!("{error:?}"));
    assert!(!shown.contains(SECRET) && !debug.contains(SECRET), "{shown}");
    assert!(shown.starts_with("conf/egress.toml:"), "{shown}");
    shown.trim_start_matches("conf/egress.toml:").to_owned()
}

#[test]
fn what_is_wrong_is_named_with_line_field_and_cure() {
    let pool = "[[pool]]\nname = 'dc'\nproxies = ['203.0.113.7:8080']\n";
    for (text, expected) in [
        ("[[pool]]\nname = 'dc'\nproxys = 'a'", "3: pool[0] has no key `proxys`; did you mean `proxies`?"),
        ("[[pool]]\nname = 'a'\nprice = 1", "3: pool[0] has no key `price`; did you mean `price_per_gb`?"),
        ("[[pool]]\nname = 'a'\nlimit = 1", "3: pool[0] has no key `limit`; did you mean `max_in_flight`?"),
        (
            "[[pool]]\nname = 'a'\nin_flight = 1",
            "3: pool[0] has no key `in_flight`; did you mean `max_in_flight`?",
        ),
        (
            "[[pool]]\nname = 'a'\ninterval = 1",
            "3: pool[0] has no key `interval`; did you mean `min_interval`?",
        ),
        (
            "[[pool]]\nname = 'a'\n[pool]\nname = 'b'",
            "3: config has [pool] beside [[pool]]; write each head with two brackets",
        ),
        ("[pool]\nname = 'a'\n[[pool]] # two\nname = 'b'", "3: config has [pool] beside [[pool]]; write "),
        (
            "[[pool]]\nname = 'a'\n[pool.gateway]\n[pool.gateway]\n",
            "4: config has [pool.gateway] twice; write ",
        ),
        (
            "[[pool]]\nname = 'a'\nproxies = ['u-{session}:p@a.test:1']",
            "3: pool[0].proxies[0] holds {session}, so it is the template of a gateway; give it as the `template` of a",
        ),
        (
            "[[pool]]\nname = 'a'\nproxies = 'none.txt'",
            "3: pool[0].proxies names conf/none.txt: exit list cannot be read: ",
        ),
        ("[pol]\n", "1: config has no key `pol`; did you mean `pool`?"),
        (&"[[pool]]\nname = 'a'\n".repeat(65), "127: pool[63] is one too many; name at most 63"),
        (
            "[retry]\nzzzzzzzz = 1",
            "2: retry has no key `zzzzzzzz`; known are preset, max_attempts, retries_per_success, replay_cap",
        ),
        ("[pool]\nname = 'dc'", "1: pool is not a list; write its head with two brackets, like [[pool]]"),
        ("[[pool]]\nproxies = ['a:1']", "1: pool[0] has no `name`; add it"),
        (
            "[[pool]]\nname = 'dc'",
            "1: pool[0] has a fault: pool exits of `dc` are missing; give it a list or a gateway",
        ),
        (
            &format!("{pool}weight = 'much'"),
            "4: pool[0].weight is not a whole number from 0 to 4294967295; see the example for how it is written",
        ),
        (
            &format!("{pool}weight = 0"),
            "4: pool[0].weight of `dc` is not 1 to 1,000; compare exit with exit: 1 is even",
        ),
        (
            &format!("{pool}price_per_gb = nan"),
            "4: pool[0].price_per_gb of `dc` is not 0 to 1,000,000; give the price of a gigabyte",
        ),
        (
            &format!("{pool}min_interval = 3"),
            "4: pool[0].min_interval is not a time span in quotes, like \"30s\", \"10m\" or \"250ms\"; see the example for how it is written",
        ),
        (
            &format!("{pool}min_interval = '3'"),
            "4: pool[0].min_interval is no time span; write it like \"30s\", \"10m\" or \"250ms\"",
        ),
        (
            &format!("{pool}vendor = 'oxylab'"),
            "4: pool[0].vendor is none of the known words; did you mean `oxylabs`?",
        ),
        (&format!("{pool}{pool}"), "5: pool[1].name is that of pool[0]; give each pool a name of its own"),
        (
            &format!("{pool}[[pool]]\nname = 'resi'\nproxies = [\n '203.0.113.9:1',\n '203.0.113.7:8080']"),
            "6: pool[1].proxies hold exit ",
        ),
        (
            "[[pool]]\nname = 'a'\nproxies = [\n 'a.test:1',\n 'b.test:1',\n 'a.test:1']",
            "6: pool[0].proxies[2] is the exit of [0]; keep one of the two",
        ),
        (
            &format!("{pool}[[site]]\norigin = 'a.test'\npools = [\n 'dc',\n 'cd']"),
            "8: site[0].pools[1] names no pool of this file; did you mean `dc`?",
        ),
        (
            &format!("{pool}[[site]]\norigin = 'a.test'\npools = ['dc', 'dc']"),
            "6: site[0].pools of `a.test` name `dc` twice; name each once",
        ),
        (
            "[[site]]\norigin = 'https://a.test/'",
            "2: site[0].origin `https://a.test/` is no name of a site; write a host, ",
        ),
        ("[request]\ncountry = 'usa'", "2: request.country is not two letters; "),
        (
            &format!("{pool}kind = 'isp'\n[request]\nkind = 'ips'"),
            "6: request.kind is that of no pool; did you mean `isp`?",
        ),
        (
            "[[site]]\norigin = ''",
            "2: site[0].origin `` is no name of a site; write a host, like `shop.example`, `*.shop.example` or `*`",
        ),
        (
            "[[site]]\norigin = 'a.test'\n[[site]]\norigin = 'A.test'",
            "4: site[1].origin is that of site[0]; say it all in one place",
        ),
        (
            "[[site]]\norigin = 'a.test'\nquiet = '1ms'",
            "3: site[0].quiet of `a.test` is not 1 s to a day; give it in seconds",
        ),
        (
            "[[site]]\norigin = 'a.test'\n[site.statuses]\n'42' = 'ok'",
            "4: site[0].statuses.42 is no status; write three digits in quotes, like \"420\"",
        ),
        (
            "[[site]]\norigin = 'a.test'\nstatuses = { '420' = 'rate_limit' }",
            "3: site[0].statuses.420 is none of the known words; did you mean `rate_limited`?",
        ),
        ("[request]\npools = ['dc']", "2: request.pools[0] names no pool of this file; leave it out"),
        (
            "[request]\ngranularity = 'per_request'\nexclusive = true",
            "1: request contradicts itself; an exit that is not held",
        ),
        (
            "[request]\ngranularity = 'per_request'\nwindow = '3s'",
            "2: request.granularity has no window; leave `window` and `max_uses` out",
        ),
        ("[member]\nindex = 3\nof = 3", "2: member.index is not below `of`; count from 0"),
        ("a = \n", "1: config is not TOML: "),
        ("seed = 1\nseed = 2", "2: config is not TOML: duplicate key; mend the line"),
    ] {
        let shown = refused(text);
        assert!(shown.starts_with(expected), "{text}\n  is: {shown}\nnot: {expected}");
    }
}

#[test]
fn a_provider_of_the_catalogue_is_named_and_given_its_fields() {
    let text = "[[pool]]\nname = 'resi'\n[pool.gateway]\nprovider = 'oxylabs'\nuser = 'acme'\n\
                password = { env = 'PASSWORD' }\ncountry = 'DE'\nttl = '10m'\n";
    let config = read(text).unwrap();
    let gateway = Gateway::provider("oxylabs").unwrap().login("acme", &format!("{SECRET}-env")).country("de");
    let gateway = gateway.ttl(std::time::Duration::from_secs(600));
    assert_eq!(config.pools()[0].gateways(), [gateway]);
    let shown = format!("{config}{config:?}{:?}", config.builder());
    assert!(!shown.contains(SECRET) && config.warnings().is_empty(), "{shown}");

    for (change, expected) in [
        (
            ("oxylabs", "oxylab"),
            "4: pool[0].gateway.provider is not in the catalogue: did you mean `oxylabs`?; ",
        ),
        (
            ("country", "via = 'https'\nzone"),
            "8: pool[0].gateway has no key `zone`; a placeholder of the template goes under `fields`: fields = { zone = \"..\" }; \
             else known are provider, ",
        ),
        (
            ("ttl = '10m'", "ttl = '0s'"),
            "8: pool[0].gateway.ttl has a fault: gateway `oxylabs` has a lifetime that is not whole seconds; ",
        ),
        (
            ("ttl = '10m'", "ttl = '2000m'"),
            "8: pool[0].gateway.ttl has a fault: gateway `oxylabs` keeps sessions for at most 86400 s; ",
        ),
        (
            ("password = { env = 'PASSWORD' }", ""),
            "3: pool[0].gateway has a fault: gateway `oxylabs` has no value for `{pass}`; give it by `user` and `password`",
        ),
        (
            ("'DE'", "'zz'"),
            "7: pool[0].gateway.country has a fault: gateway `oxylabs` has a country that ISO 3166 ",
        ),
        (("country = 'DE'", "city = 'rome'"), "7: pool[0].gateway.city has a fault: gateway `oxylabs` "),
        (("country = 'DE'", "country = 'us'\nstate = 'TX'"), "8: pool[0].gateway.state has a fault: "),
        (
            ("ttl", "lifetime = '0s'\nttl"),
            "8: pool[0].gateway.lifetime is zero; give what the provider says, or `rotating` if ",
        ),
        (
            ("ttl = '10m'", "fields.zone = 'dc'"),
            "8: pool[0].gateway.fields.zone has a fault: gateway `oxylabs` is given `zone`",
        ),
        (
            ("user = 'acme'", "user = 'ac:me'"),
            "5: pool[0].gateway.user has a fault: user name holds a colon; ",
        ),
        (("user", "username"), "5: pool[0].gateway has no key `username`; did you mean `user`?"),
        (("password", "pass"), "6: pool[0].gateway has no key `pass`; did you mean `password`?"),
    ] {
        let shown = refused(&text.replace(change.0, change.1));
        assert!(shown.starts_with(expected), "  is: {shown}\nnot: {expected}");
    }
    let shown = refused(&format!("{}token_length = 12", text.replace("oxylabs", "iproyal")));
    assert!(
        shown.starts_with("9: pool[0].gateway.token_length has a fault: gateway `iproyal` takes tokens of 8"),
        "{shown}"
    );
}

#[test]
fn a_bad_line_of_a_list_is_skipped_and_told_unless_the_pool_is_strict() {
    let text = "[[pool]]\nname = 'a'\nproxies = { env = 'BAD_LIST' }\n";
    let config = read(text).unwrap();
    assert_eq!((config.pools()[0].exits().len(), config.skipped().len()), (1, 1));
    let told = config.skipped()[0].to_string();
    assert!(told.starts_with("conf/egress.toml:3: pool[0].proxies has in line 2: proxy spec "), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    refused(&format!("{text}strict = true"));
}

#[test]
fn the_example_is_right_and_holds_no_secret() {
    let text = include_str!("../../../examples/egress.toml");
    let env = |name: &str| match name {
        "DC_PROXY" => env("SPEC"),
        "RESI_PASSWORD" => env("PASSWORD"),
        "MOBILE_TEMPLATE" => env("TEMPLATE"),
        _ => Err(VarError::NotPresent),
    };
    let config = Config::read(text, None, &env).unwrap();
    assert!(config.warnings().is_empty() && config.skipped().is_empty());
    let shown = config.to_string();
    for line in [
        "pool dc               3 exits, kind datacenter, 0.5 per GB, at most 8 in flight per exit, 1s between leases",
        "pool resi             gateway oxylabs at pr.oxylabs.io:7777 (64 sessions, country us, ttl 10m), kind residential, country us, 8 per GB",
        "pool mobile           gateway gw.example:7000 (256 sessions, lifetime 10m)",
        "site shop.example     dc, then resi, 420 is rate_limited",
        "site api.partner.example any pool, an API",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
    // What is commented out is the default, and changes nothing; but for these, which have none.
    let without = [
        "seed",
        "max_uses",
        "collect",
        "roots",
        "proxy_tls",
        "index",
        "of",
        "on_loss",
        "scope",
        "fields",
        "vendor",
        "state",
        "city",
        "idle",
        "attempts",
        "repeatable",
        "pools",
        "country",
        "kind",
    ];
    let uncommented = |line: &str| {
        let key = line.strip_prefix("# ")?.split_once(" = ")?.0;
        (is_word(key) && !without.contains(&key)).then(|| line[2..].to_owned())
    };
    let lines: Vec<_> =
        text.lines().map(|line| uncommented(line).unwrap_or_else(|| line.to_owned())).collect();
    let said = lines.join("\n");
    assert!(said.lines().filter(|line| !line.starts_with('#')).count() > 60, "{said}");
    let full = Config::read(&said, None, &env).unwrap();
    let layers = |config: &Config| format!("{:?}{:?}", config.classify(), config.lease("k"));
    assert_eq!((&full.pools, &full.sites), (&config.pools, &config.sites));
    assert_eq!(
        (full.rules.clone(), full.bounds, layers(&full)),
        (config.rules.clone(), config.bounds, layers(&config))
    );
    #[cfg(feature = "client")]
    assert_eq!(format!("{:?}", full.client()), format!("{:?}", config.client()));
}

#[test]
fn the_file_in_the_readme_is_right() {
    let readme = include_str!("../../../README.md");
    let (_, section) = readme.split_once("## A configuration file").unwrap();
    let (_, text) = section.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let listed = text.replace("\"proxies.txt\"", "['203.0.113.7:8080']");
    let password = |_: &str| env("PASSWORD");
    let config = Config::read(&listed, None, &password).unwrap();
    assert_eq!((config.pools().len(), config.sites.len(), config.warnings()), (2, 1, &[][..]));
    let missing = Config::read(text, None, &password).unwrap_err();
    assert_eq!(missing.field(), "pool[0].proxies");
    assert!(missing.to_string().contains(" names proxies.txt: "), "{missing}");
}

#[test]
fn the_summary_says_what_is_not_as_usual() {
    let pool = "[[pool]]\nname = 'a'\nproxies = ['a.test:1']\n";
    for (keys, expected) in [
        ("", "any pool"),
        ("quiet = '10m'\nescalate_at = 0.3\n", "any pool"),
        ("quiet = '5m'\nescalate_at = 0.5\npools = ['a']\n", "a, escalate_at 0.5, quiet 5m"),
        (
            "api = true\nstatuses = { '503' = 'origin_error', '420' = 'blocked_exit' }",
            "any pool, an API, 420 is blocked_exit, 503 is origin_error",
        ),
    ] {
        let shown = read(&format!("{pool}[[site]]\norigin = 'a.test'\n{keys}")).unwrap().to_string();
        assert_eq!(shown.lines().nth(1), Some(&*format!("site a.test           {expected}")), "{shown}");
    }
}

#[test]
fn classes_and_who_is_of_one_are_checked_with_their_place() {
    for (text, expected) in [
        (
            "[classes]\nprices = 0",
            "1: classes give `prices` the weight 0; give each a weight from 1 to 1,000",
        ),
        (
            "[classes]\nprices = 3\n[request]\nclass = 'price'",
            "4: request.class is not among [classes]; did you mean `prices`?",
        ),
        ("[request]\nclass = 'bulk'", "2: request.class is not among [classes]; leave it out"),
    ] {
        assert_eq!(refused(text), expected);
    }
    let config = read("[classes]\nprices = 3\n[request]\nclass = 'prices'").unwrap();
    assert_eq!(config.lease("a").class.as_ref().map(crate::request::Key::as_str), Some("prices"));
    assert!(read("[request]\nclass = 'default'").is_ok());
}

#[test]
fn what_a_reload_does_not_take_over_is_named() {
    let first = read("").unwrap();
    assert!(first.not_taken_over(&first.clone()).is_empty());
    for (text, expected) in [
        ("[request]\nwindow = '1m'", "[request]"),
        ("[classify]\npages = false", "[classify]"),
        ("[retry]\nreplay_cap = 1", "retry.replay_cap"),
        ("[bounds]\nleases = 1", "[bounds]"),
        ("[classes]\nprices = 3", "[classes]"),
        ("[member]\nindex = 0\nof = 2", "[member]"),
        ("seed = 1", "seed"),
    ] {
        assert_eq!(first.not_taken_over(&read(text).unwrap()), [expected]);
    }
    #[cfg(feature = "client")]
    assert_eq!(first.not_taken_over(&read("[client]\nhttp2 = false").unwrap()), ["[client]"]);
    let taken = "[[pool]]\nname = 'a'\nproxies = ['a.test:1']\n[[site]]\norigin = 'a.test'\n[retry]\nmax_attempts = 2";
    assert!(first.not_taken_over(&read(taken).unwrap()).is_empty());
}
