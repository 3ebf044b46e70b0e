//! Secrets from elsewhere, and errors that name the place and repeat nothing.

use super::Config;
use super::places::is_word;
use crate::error::ConfigError;
use crate::exit::Gateway;
use std::env::VarError;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

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
        (&"[[pool]]\nname = 'a'\n".repeat(65), "129: pool[64] is one too many; name at most 64"),
        (
            "[retry]\nzzzzzzzz = 1",
            "2: retry has no key `zzzzzzzz`; known are preset, max_attempts, replay_cap",
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
fn secrets_come_from_elsewhere() {
    let gateway = "[[pool]]\nname = 'resi'\n[pool.gateway]\ntemplate = { env = 'TEMPLATE' }\n";
    let lists = "[[pool]]\nname = 'a'\nproxies = { env = 'LIST' }\n[[pool]]\nname = 'b'\nproxies = [{ env = 'SPEC' }]";
    let config = read(&format!("{gateway}{lists}")).unwrap();
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    let exits: Vec<_> = config.pools().iter().map(|pool| pool.exits.len()).collect();
    assert_eq!(exits, [0, 2, 1]);
    let password = |pool: usize| {
        config.pools()[pool].exits.iter().next()?.route().credential()?.password().to_owned().into()
    };
    assert_eq!((password(1), password(2)), (Some(SECRET.to_owned()), Some(SECRET.to_owned())));
    let shown = format!("{config:?}{config:#?}{config}{:?}", config.builder());
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn a_secret_in_the_file_works_and_is_warned_of() {
    let text = format!(
        "[[pool]]\nname = 'a'\nproxies = ['http://u:{SECRET}@a.test:1', 'b.test:1']\n[[pool.gateway]]\n\
         template = 'http://u-{{session}}:{SECRET}@gw.example:7000'\n[[pool.gateway]]\nrotating = 'http://{{user}}-{{zone}}-{{api_key}}:{{pass}}@gw.example:1'\n\
         user = 'u'\npassword = '{SECRET}'\n[pool.gateway.fields]\nzone = 'dc'\napi_key = '{SECRET}'\n"
    );
    let config = read(&text).unwrap();
    let told: Vec<_> = config.warnings().iter().map(|warning| (warning.line(), warning.field())).collect();
    assert_eq!(
        told,
        [
            (Some(3), "pool[0].proxies[0]"),
            (Some(5), "pool[0].gateway[0].template"),
            (Some(9), "pool[0].gateway[1].password"),
            (Some(12), "pool[0].gateway[1].fields.api_key"),
        ]
    );
    let shown = format!("{config:?}{:?}{config}", config.warnings());
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn no_error_repeats_a_secret_whatever_is_wrong() {
    let gateway = "[[pool]]\nname = 'resi'\n[pool.gateway]\n";
    for (text, expected) in [
        (
            "[[pool]]\nname = 'a'\nproxies = { env = 'BAD_LIST' }\nstrict = true".to_owned(),
            "3: pool[0].proxies has in line 2: proxy spec",
        ),
        (format!("[[pool]]\nname = 'a'\nproxies = ['a.test:1', 'u:{SECRET}@']"), "3: pool[0].proxies[1] "),
        (format!("[[pool]]\nname = 'a'\nproxies = '{SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n{SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\nproxies = {SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n{SECRET}:8080 = 1\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n'http://u:{SECRET}@a.test' = 1\n"), "3: pool[0] has no such key; "),
        (format!("[[pool]]\nname = 'a'\nweight = '{SECRET}'"), "3: pool[0].weight is not"),
        (format!("[[pool]]\nname = ['{SECRET}']"), "2: pool[0].name is not a text"),
        (format!("pool = '{SECRET}'"), "1: pool is not a list"),
        (format!("pool = ['{SECRET}, expected x']"), "1: pool[0] is not a table"),
        (format!("[retry]\npreset = '{SECRET}'"), "2: retry.preset is none of the known words; known are"),
        (format!("[client]\nconnect_timeout = '{SECRET}'"), "2: client.connect_timeout is no"),
        (
            format!("{gateway}template = {{ env = 'BAD_TEMPLATE' }}"),
            "4: pool[0].gateway.template has no {session}",
        ),
        (format!("{gateway}template = 'u:{SECRET}@'"), "4: pool[0].gateway.template "),
        (
            format!("{gateway}template = {{ env = 'NONE' }}"),
            "4: pool[0].gateway.template names the variable NONE, which is not set; ",
        ),
        (
            format!("{gateway}template = {{ env = 'BYTES' }}"),
            "4: pool[0].gateway.template names the variable BYTES, which is not UTF-8; ",
        ),
        (
            format!("{gateway}template = {{ file = 'none' }}"),
            "4: pool[0].gateway.template names conf/none, which cannot be read: ",
        ),
        (
            format!("{gateway}template = {{ evn = '{SECRET}' }}"),
            "4: pool[0].gateway.template has no key `evn`; did you mean `env`?",
        ),
        (
            format!("{gateway}template = {{ env = 'A', file = '{SECRET}' }}"),
            "4: pool[0].gateway.template names not one source",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\npassword = {{ file = 3 }}"),
            "5: pool[0].gateway.password.file is not a text",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\npassword = 3"),
            "5: pool[0].gateway.password is not a text in quotes, { env",
        ),
        (
            format!("{gateway}provider = 'x'\ntemplate = '{SECRET}'"),
            "3: pool[0].gateway names 2 gateways: `provider` and `template`; keep one of them",
        ),
        (
            format!("{gateway}user = '{SECRET}'"),
            "3: pool[0].gateway does not say which gateway it is; name one of ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nsessions = 70000"),
            "5: pool[0].gateway.sessions are 70000; ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nsessions = 0"),
            "5: pool[0].gateway.sessions is not a whole number from 1 ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\ntoken_length = 3"),
            "5: pool[0].gateway.token_length is not 4 to 32; ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nlifetime = '0s'"),
            "5: pool[0].gateway.lifetime is zero; ",
        ),
    ] {
        let shown = refused(&text);
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
        (("ttl = '10m'", "token_length = 32"), "8: pool[0].gateway.token_length has a fault: "),
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

/// A folder with these files, a configuration beside them, and what was read of it.
fn beside(files: &[(&str, &str)], text: &str) -> Result<Config, ConfigError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tower-egress-beside-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let config = Config::read(text, Some(&folder.join("egress.toml")), &env);
    std::fs::remove_dir_all(&folder).unwrap();
    config
}

#[test]
fn the_line_ends_at_the_end_of_a_secrets_file_are_not_the_secrets() {
    let text = "[[pool]]\nname = 'a'\nproxies = [{ file = 'spec' }]";
    for end in ["", "\n", "\r\n", "\n\n", "\r\n\r\n\n"] {
        let config = beside(&[("spec", &format!("http://u:{SECRET}@a.test:1{end}"))], text).unwrap();
        assert_eq!(config.pools()[0].exits().iter().next().unwrap().route().port(), 1, "{end:?}");
    }
    for wrong in ["\n#", "\t", "\u{7}"] {
        let error = beside(&[("spec", &format!("http://u:{SECRET}@a.test:1{wrong}"))], text).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("egress.toml:3: pool[0].proxies[0] names "), "{told}");
        assert!(told.contains("spec, which holds a control character; ") && !told.contains(SECRET), "{told}");
    }
}

#[test]
fn an_empty_secret_is_none_wherever_it_may_stand() {
    let gateway = |rest: &str| format!("[[pool]]\nname = 'a'\n[pool.gateway]\n{rest}");
    let template = "template = 'http://{user}-{zone}-{session}:{pass}@gw.example:1'\nuser = 'u'\n";
    let login = |key: &str| (gateway(&format!("{template}{key} = ")), format!("6: pool[0].gateway.{key}"));
    let whole = |key: &str| (gateway(&format!("{key} = ")), format!("4: pool[0].gateway.{key}"));
    let user = gateway("provider = 'oxylabs'\npassword = 'p'\nuser = ");
    let list = |open: &str| format!("[[pool]]\nname = 'a'\nproxies = {open}");
    for (head, field) in [
        (user, "6: pool[0].gateway.user".to_owned()),
        login("password"),
        login("fields.zone"),
        whole("template"),
        whole("rotating"),
        (list("[\n"), "4: pool[0].proxies[0]".into()),
    ] {
        let close = if head.ends_with("[\n") { "]" } else { "" };
        for (value, what) in [
            ("''", "is empty; give it a value, or leave the key out"),
            ("' '", "is empty; "),
            ("{ env = 'EMPTY' }", "names the variable EMPTY, which is empty; "),
            ("{ env = 'BLANK' }", "names the variable BLANK, which is empty; "),
            ("{ env = 'LINES' }", "names the variable LINES, which holds a control character; "),
        ] {
            let told = refused(&format!("{head}{value}{close}"));
            assert!(told.starts_with(&format!("{field} {what}")), "{head}{value}: {told}");
        }
        for (content, what) in
            [("", "is empty; write"), ("\r\n\n", "is empty; "), ("a\nb", "holds a control ")]
        {
            let told =
                beside(&[("s", content)], &format!("{head}{{ file = 's' }}{close}")).unwrap_err().to_string();
            assert!(
                told.contains(&format!("{field} names ")) && told.contains(&format!("s, which {what}")),
                "{told}"
            );
        }
    }
    let told = refused(&list("{ env = 'EMPTY' }"));
    assert!(told.starts_with("3: pool[0].proxies names the variable EMPTY, which is empty; "), "{told}");
}

#[test]
fn the_example_is_right_and_holds_no_secret() {
    let text = include_str!("../../examples/egress.toml");
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
        "pool resi             gateway pr.oxylabs.io:7777 (64 sessions), kind residential, country us, 8 per GB",
        "pool mobile           gateway gw.example:7000 (256 sessions)",
        "site shop.example     dc, then resi",
        "site api.partner.example any pool, an API",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
    // What is commented out is the default, and changes nothing; but for these, which have none.
    let without =
        ["seed", "max_uses", "collect", "roots", "proxy_tls", "index", "of", "on_loss", "scope", "fields"];
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
    let readme = include_str!("../../README.md");
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
