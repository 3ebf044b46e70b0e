//! Templates and their values: what is rendered, and what is refused.

use super::super::token::Session;
use super::super::{Exit, Vendor};
use super::*;
use std::collections::HashSet;

const SECRET: &str = "s3cret";

fn session(rider: u64) -> Session {
    Session { salt: 1, rider, generation: 0, window: 0 }
}

fn rendered(gateway: &Gateway, count: u64) -> String {
    let exit = gateway.exit(&session(1), count);
    let route = exit.route();
    let login =
        route.credential().map_or(String::new(), |login| format!("{}:{}@", login.user(), login.password()));
    format!("{login}{}:{}", route.host(), route.port())
}

fn parse(template: &str) -> Gateway {
    Gateway::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_placeholder_stands_anywhere() {
    let fill = |gateway: Gateway| gateway.login("acme", "p:w@[x]{y}").country("DE").ttl(secs(600));
    // Of what was given, wherever it stands.
    let token = SHAPE.token(&session(1), fill(parse("{session}:pw@gw.test:1")).0.ready.geo, 0);
    for (template, expected) in [
        (
            "http://{user}-{country}-{ttl}-{session}:{pass}@GW.test:1",
            "acme-de-10m-TOKEN:p:w@[x]{y}@gw.test:1",
        ),
        ("{user}-{COUNTRY}-{ttl_min}-{session}:{pass}@gw.test:1", "acme-DE-10-TOKEN:p:w@[x]{y}@gw.test:1"),
        (
            "gw.test:1:{user}-{session}:{pass}_{CountryName}_{ttl_s}",
            "acme-TOKEN:p:w@[x]{y}_Germany_600@gw.test:1",
        ),
        ("{user}-{session}:{pass}[x]:{country}-{ttl}.gw.test:1", "acme-TOKEN:p:w@[x]{y}[x]@de-10m.gw.test:1"),
        (
            "http://{user}-{session}-{ttl}:{pass}@[{country}-]gw.test:1/",
            "acme-TOKEN-10m:p:w@[x]{y}@de-gw.test:1",
        ),
        (
            "http://{user}[-{city}-{state}]-{session}[-{country}]:{pass}-{ttl}@[2001:db8::1]:1",
            "acme-TOKEN-de:p:w@[x]{y}-10m@2001:db8::1:1",
        ),
    ] {
        let gateway = fill(parse(template));
        gateway.check().unwrap_or_else(|error| panic!("{template}: {error}"));
        assert_eq!(rendered(&gateway, 0).replace(&token, "TOKEN"), expected, "{template}");
    }
}

#[test]
fn a_wrong_gateway_is_refused_when_built_and_says_why_without_a_value() {
    let free = || parse("http://{user}[-cc-{country}]-{session}:{pass}@gw.test:1").login("acme", SECRET);
    let row = |name: &str| Gateway::provider(name).unwrap().login("acme", SECRET);
    let of = |template: &str| parse(template).login("acme", SECRET);
    for (gateway, why) in [
        // Placeholders without values, and values without placeholders.
        (of("http://{user}-${session}:{pass}@gw.test:1"), "has a `$` before a placeholder"),
        (
            of("http://corp-customer-{user}-{session}:{pass}@gw.test:1").login("corp-customer-x", SECRET),
            "is given a `user` that begins with `corp-customer-`",
        ),
        (of("http://{user}-{contry}-{session}:{pass}@gw.test:1"), "`{contry}`: did you mean `{country}`?"),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1"),
            "no value for `{zone}`; give it by Gateway::field",
        ),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zoen", SECRET),
            "is given `zoen`, and has no `{zoen}`: did you mean `{zone}`?",
        ),
        (
            of("http://{user}-{country}-{session}:{pass}@gw.test:1"),
            "no value for `{country}`; give it by Gateway::country",
        ),
        (
            of("http://{user}-{ttl_min}-{session}:{pass}@gw.test:1"),
            "no value for `{ttl_min}`; give it by Gateway::ttl",
        ),
        (of("http://{user}-{session}:{pass}{hunter2}@gw.test:1"), "a placeholder in its password; "),
        (of("http://{user}-{session}:{pass}@gw.test:{prt}"), "no value for `{prt}`"),
        (
            free().field("contry", SECRET),
            "is given `contry`, and has no `{contry}`: did you mean `{country}`?",
        ),
        (free().city(SECRET), "is given `city`, and has no `{city}`"),
        (free().ttl(secs(60)), "is given `ttl`, and has no `{ttl}`; the lifetime of its sessions is fixed"),
        (free().field("session", SECRET), "tokens are made here"),
        (
            of("http://{user}-{ttl}-{session}:{pass}@gw.test:1").ttl(secs(60)).field("ttl", SECRET),
            "as a field; give it by Gateway::ttl",
        ),
        (
            of("http://{user}[-{state}-{city}]-{session}:{pass}@gw.test:1").city(SECRET),
            "is given `city`, and leaves it out",
        ),
        (parse("http://user-{session}:pw@gw.test:1").login("acme", ""), "is given `user`"),
        (Gateway::provider("scrapingbee").unwrap().login("key", SECRET), "`scrapingbee` is given `pass`"),
        (row("brightdata"), "`brightdata` has no value for `{zone}`"),
        (
            row("iproyal"),
            "no value for `{ttl}`; give it by Gateway::ttl: how long a session lives by default is not known",
        ),
        (row("packetstream").country("kr"), "its country's name is not known here"),
        // Values that run together, or end others.
        (of("http://{user}{session}:{pass}@gw.test:1"), "`{user}` and `{session}` side by side"),
        (
            of("http://{user}[{country}]-{session}:{pass}@gw.test:1").country("de"),
            "`{user}` and `{country}` side by side",
        ),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", "s3cret-a"),
            "a `zone` with `-`, which ends a value there",
        ),
        (
            of("http://{user}.{zone};{session}:{pass}@gw.test:1").field("zone", "s3cret;a"),
            "a `zone` with `;`",
        ),
        (of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", ""), "an empty `zone`"),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", "s3cret a"),
            "a `zone` that no grammar takes",
        ),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", "s3cret\n"),
            "a `zone` that no grammar takes",
        ),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", "s3crét"),
            "a `zone` that no grammar takes",
        ),
        (
            of("http://{user}-{zone}-{session}:{pass}@gw.test:1").field("zone", &SECRET.repeat(30)),
            "a `zone` that no grammar takes",
        ),
        // Logins and addresses that the protocol cannot carry.
        (free().login("s3cret:a", SECRET), "user name holds a colon"),
        (free().login("acme", "s3cret\r"), "control character"),
        (of("socks5h://{user}-{session}:{pass}@gw.test:1").login(&SECRET.repeat(42), "p"), "has 261 bytes"),
        (
            of("http://{user}-{session}:{pass}@{id}.gw.test:1").field("id", "s3cret@evil.test"),
            "a `id` that is no part of a host",
        ),
        (
            of("http://{user}-{session}:{pass}@{id}.{id}.{id}.gw.test:1").field("id", &SECRET.repeat(20)),
            "no usable host",
        ),
        (
            of("http://{user}-{session}:{pass}@gw.test:{port}").field("port", SECRET),
            "port that is not 1 to 65535",
        ),
        (
            of("http://{user}-{session}:{pass}@gw.test:{port}").field("port", "0"),
            "port that is not 1 to 65535",
        ),
        // Places.
        (free().country("uk"), "the United Kingdom is gb"),
        (free().country("zz"), "country that ISO 3166 does not know"),
        (free().country(SECRET), "country that ISO 3166 does not know"),
        (free().country("any"), "country that ISO 3166 does not know"),
        (row("brightdata").field("zone", "r").state("ny"), "state or city without a country"),
        (row("brightdata").field("zone", "r").country("us").city("San s3cret"), "takes"),
        (
            row("brightdata").field("zone", "r").country("us").city("Sans3cret"),
            "a city in another spelling; write it in lower case",
        ),
        (
            row("oxylabs").country("us").state("california_s3cret"),
            "a state in another spelling; write it in lower case after its country",
        ),
        (row("nodemaven").country("us").ttl(secs(60)).city(SECRET), "a city without a state"),
        (row("soax").country("us").city("new_s3cret"), "with `+` for a space"),
        // Lifetimes.
        (row("oxylabs").ttl(secs(90)), "not whole minutes"),
        (row("infatica").ttl(secs(90)), "not whole minutes"),
        (of("http://{user}-{session}-{ttl_min}:{pass}@gw.test:1").ttl(secs(90)), "not whole minutes"),
        (row("oxylabs").ttl(Duration::from_millis(60_500)), "not whole seconds"),
        (row("oxylabs").ttl(Duration::ZERO), "not whole seconds"),
        (row("oxylabs").ttl(secs(86_460)), "`oxylabs` keeps sessions for at most 86400 s"),
        (row("geonode").ttl(secs(120)), "keeps sessions for 180 to 86400 s"),
        (row("iproyal").ttl(secs(604_801)), "keeps sessions for 1 to 604800 s"),
        // Tokens.
        (row("iproyal").ttl(secs(60)).token_length(12).unwrap(), "`iproyal` takes tokens of 8 characters"),
        (row("evomi").token_length(5).unwrap(), "takes tokens of 6 to 10 characters"),
        (row("netnut").country("de").token_length(9).unwrap(), "takes tokens of 1 to 8 characters"),
        (Gateway::provider("tor").unwrap().via(Via::Http), "no known port for that scheme"),
    ] {
        let refused = gateway.check().map_or_else(|error| error.to_string(), |()| "taken".to_owned());
        assert!(refused.contains(why), "{gateway:?}\n wanted: {why}\n got: {refused}");
        assert!(
            !refused.contains("s3cr") && !refused.contains("acme") && !refused.contains("hunter"),
            "{refused}"
        );
        assert!(!format!("{gateway:?}{gateway:#?}").contains("s3cr"), "{gateway:?}");
    }
    assert!(free().check().is_ok() && free().country("de").check().is_ok());
}

#[test]
fn what_a_provider_takes_is_taken() {
    let row = |name: &str| Gateway::provider(name).unwrap().login("acme", SECRET);
    let user = |gateway: Gateway| {
        gateway.check().unwrap();
        gateway.exit(&session(1), 0).route().credential().unwrap().user().to_owned()
    };
    // The United Kingdom, and anywhere, where they have names of their own.
    for (country, said, where_from) in
        [("GB", "uk", Some("gb")), ("uk", "uk", Some("gb")), ("any", "any", None)]
    {
        let gateway = row("netnut").country(country);
        assert_eq!(
            (gateway.where_from(), user(gateway.clone())),
            (where_from, format!("acme-res-{said}-sid-10000000"))
        );
    }
    let spelt = row("packetstream").field("CountryName", "SouthKorea").login("acme", SECRET);
    assert!(spelt.check().is_ok());
    // Account names have separators in them as the provider gave them.
    assert_eq!(
        user(row("webshare").login("acme-residential", SECRET).country("us")),
        "acme-residential-us-10000000"
    );
    let named = parse("http://{user}-{zone}-{session}:{api_key}@gw.test:1")
        .field("api_key", "a-b-c")
        .field("zone", "r_1");
    assert!(named.login("acme-1", "").check().is_ok());
    let iproyal = |seconds| {
        let gateway = Gateway::provider("iproyal").unwrap().login("acme", "pw").ttl(secs(seconds));
        gateway.check().unwrap();
        gateway
            .exit(&session(1), 0)
            .route()
            .credential()
            .unwrap()
            .password()
            .rsplit('-')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!((iproyal(90), iproyal(120), iproyal(604_800)), ("90s".into(), "2m".into(), "10080m".into()));
    // Other ways to speak to it.
    for (via, port) in
        [(Via::Http, 65_534), (Via::Https, 65_535), (Via::Socks5h, 65_533), (Via::Socks5, 65_533)]
    {
        let gateway = row("massive").via(via);
        gateway.check().unwrap();
        let exit = gateway.exit(&session(1), 0);
        assert_eq!((exit.route().via(), exit.route().port()), (via, port));
    }
    let exit = Gateway::provider("tor").unwrap().exit(&session(1), 0);
    assert_eq!((exit.route().vendor(), exit.route().via()), (Some(Vendor::Tor), Via::Socks5h));
}

#[test]
fn each_port_of_a_range_is_a_session() {
    for template in
        ["http://user:pw@gw.test:10000-10004", "gw.test:10000-10004:user:pw", "user:pw:gw.test:10000-10004"]
    {
        let gateway = parse(template);
        gateway.check().unwrap();
        assert_eq!((gateway.slots(), gateway.port()), (5, 10_000), "as many slots as ports");
        let exits: Vec<_> = (0..7).map(|count| gateway.exit(&session(count), count)).collect();
        let ports: Vec<_> = exits.iter().map(|exit| exit.route().port()).collect();
        assert_eq!(
            ports,
            [10_000, 10_001, 10_002, 10_003, 10_004, 10_000, 10_001],
            "counted out, and around"
        );
        assert_eq!(exits.iter().map(Exit::id).collect::<HashSet<_>>().len(), 5);
        assert!(exits.iter().all(|exit| exit.route().credential().unwrap().user() == "user"));
        let six = gateway.clone().sessions(NonZeroU32::new(6).unwrap()).check().unwrap_err().to_string();
        assert!(six.contains("more than there are tokens"), "{six}");
    }
    assert_ne!(parse("gw.test:10-20").id(), parse("gw.test:10-21").id());
    assert!(
        Gateway::rotating("http://user:pw@gw.test:1-2").unwrap_err().to_string().contains("range of ports")
    );
    let given = parse("http://u-{session}:pw@gw.test:{port}").field("port", "7000");
    assert_eq!((given.check(), given.port()), (Ok(()), 7000));
}

#[test]
fn a_token_is_a_hash_of_the_place_too() {
    let token =
        |gateway: &Gateway| rendered(gateway, 0).replace('@', "-").rsplit('-').nth(1).unwrap().to_owned();
    let free =
        || parse("gw.test:1:{user}[-{country}][-{city}]-{session}:{pass}x-{session}").login("acme", "pw");
    let plain = token(&free());
    let us = token(&free().country("us"));
    assert_ne!(us, plain);
    assert_ne!(us, token(&free().country("de")));
    assert_ne!(us, token(&free().country("us").city("x")));
    assert_eq!(us, token(&free().country("US")), "case is not another place");
    assert_eq!(
        us,
        token(&free().login("acme", "other").country("us")),
        "another password is the same session"
    );
    // As it was before there were fields: processes of two versions agree.
    assert_eq!(plain, "k5ajuuin");
    assert_eq!(token(&parse("gw.test:1:user:pw-{session}")), "k5ajuuin");
}

#[test]
fn a_gateway_is_its_template_with_its_values_and_without_its_password() {
    let free = |password: &str| {
        parse("http://{user}[-{country}]-{session}:{pass}[_{city}]@gw.test:1").login("acme", password)
    };
    let id = free("one").id();
    assert_eq!(id, free("two").id());
    assert_eq!(id, parse("http://acme-{session}:three@gw.test:1").id(), "written or given");
    let others = [
        free("one").country("us"),
        free("one").country("de"),
        free("one").city("x"),
        free("one").login("other", "one"),
    ];
    let ids: HashSet<_> = others.iter().map(Gateway::id).chain([id]).collect();
    assert_eq!(ids.len(), 5);
    // A place in the password alone tells gateways apart as well.
    let iproyal = |country: &str, password: &str| {
        Gateway::provider("iproyal").unwrap().login("acme", password).country(country).ttl(secs(60))
    };
    assert_ne!(iproyal("us", "p").id(), iproyal("de", "p").id());
    assert_eq!(iproyal("us", "p").id(), iproyal("us", "q").id());
    let key = |key: &str| parse("http://u-{session}:{api_key}@gw.test:1").field("api_key", key).id();
    assert_eq!(key("a"), key("b"));
}

#[test]
fn a_new_password_keeps_sessions_however_it_is_given() {
    let old = Gateway::provider("iproyal").unwrap().login("acme", "old").country("us").ttl(secs(600));
    let new = old.clone().login("acme", "new");
    let renewed = old.with_login_of(&new).unwrap();
    assert_eq!(rendered(&renewed, 0), rendered(&old, 0).replace(":old_", ":new_"));
    assert_eq!((renewed.held_at_most(), renewed.id()), (Some(secs(600)), old.id()));
    // By a template that says the same, the tokens stay as they are.
    let by_field = parse("http://acme-{country}-{session}:{pass}@gw.test:1").login("", "old").country("de");
    let written = parse("http://acme-de-{session}:new@gw.test:1");
    assert_eq!(by_field.id(), written.id());
    let renewed = by_field.with_login_of(&written).unwrap();
    assert_eq!(rendered(&renewed, 0), rendered(&by_field, 0).replace(":old@", ":new@"));
    assert_eq!((renewed.where_from(), by_field.where_from()), (Some("de"), Some("de")));
    assert!(old.with_login_of(&old.clone().login("acme", "\n")).is_none(), "one that cannot be is not taken");
}

#[test]
fn shapes_of_tokens() {
    let token =
        |gateway: &Gateway, count| rendered(gateway, count).split(['-', ':']).nth(1).unwrap().to_owned();
    let gateway = parse("http://u-{session}:p@gw.test:1");
    let digits = gateway.clone().digits();
    let short = digits.clone().token_length(4).unwrap();
    assert_eq!((token(&digits, 0), token(&digits, 90_000_000)), ("10000000".into(), "10000000".into()));
    assert_eq!((token(&short, 8_999), token(&short, 9_000)), ("9999".into(), "1000".into()));
    let hex = Gateway::provider("nodemaven").unwrap().login("u", "p").ttl(secs(60));
    let tokens: HashSet<_> = (0..100)
        .map(|rider| {
            hex.exit(&session(rider), 0)
                .route()
                .credential()
                .unwrap()
                .user()
                .split('-')
                .nth(2)
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(tokens.len(), 100);
    assert!(
        tokens
            .iter()
            .all(|token| token.len() == 12 && token.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    );
}
