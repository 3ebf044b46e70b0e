//! The catalogue against what was written down apart from it.

use super::provider::{Chars, Life, Ports, Token};
use super::*;
use crate::exit::{Exit, Gateway, Session, Vendor, Via};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const FACTS: &str = include_str!("facts.tsv");
const RENDERS: &str = include_str!("renders.tsv");

/// Where a row differs from what is written down, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("anyip", "host", "the account's page has the address: the user gives it"),
    ("brightdata-strict", "from_use", "the same sessions as the other row's, which only end in another way"),
    ("zyte-spm", "chars", "the token stands in a header, and is the provider's"),
    ("zyte-spm", "least", "likewise"),
];

type Line = BTreeMap<&'static str, &'static str>;

fn table(text: &'static str) -> Vec<Line> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<_> = lines.next().unwrap().split('\t').collect();
    let row = |line: &'static str| {
        let cells: Vec<_> = line.split('\t').collect();
        assert_eq!(cells.len(), head.len(), "{line}");
        head.iter().copied().zip(cells).collect()
    };
    lines.map(row).collect()
}

/// The template as the table has it: parts are dropped that it does not have, and the brackets of the others.
fn without_options(template: &str, fact: &str) -> String {
    let mut plain = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('[') {
        let (part, after) = after.split_once(']').unwrap();
        let name = &part[part.find('{').unwrap()..=part.find('}').unwrap()];
        plain.push_str(before);
        if fact.contains(name) {
            plain.push_str(part);
        }
        rest = after;
    }
    plain + rest
}

/// A template of the table with the names that placeholders have here.
fn renamed(column: &str, fact: &str) -> String {
    let account: &[_] = &["customer", "account", "id", "key", "api_key"];
    let secret: &[_] = &["api_key", "package_key", "apify_proxy_password"];
    let mut template = fact.to_owned();
    let mut rename =
        |old: &str, new: &str| template = template.replace(&format!("{{{old}}}"), &format!("{{{new}}}"));
    for (old, new) in [("cc", "country"), ("CC", "COUNTRY"), ("digits", "session"), ("City", "city")] {
        rename(old, new);
    }
    match column {
        "user" => account.iter().for_each(|name| rename(name, "user")),
        "password" => secret.iter().for_each(|name| rename(name, "pass")),
        _ => [("na|eu|as", "region"), ("hex16", "id")].iter().for_each(|(old, new)| rename(old, new)),
    }
    if column != "host" {
        rename("region", "state");
    }
    if template == "\"\"" { String::new() } else { template }
}

fn number(fact: &str) -> u32 {
    if fact == "-" { 0 } else { fact.parse().unwrap() }
}

fn chars(fact: &str) -> Option<Chars> {
    Some(match fact {
        "-" => return None,
        "[0-9]" => Chars::Digits,
        "[0-9a-f]" => Chars::Hex,
        "[a-z0-9]" => Chars::Lower,
        "[A-Za-z0-9]" | "[0-9A-Za-z]" => Chars::Alnum,
        "[A-Za-z0-9_]" => Chars::Word,
        "[0-9A-Za-z._~]" => Chars::Unreserved,
        "any" | "any bytes" => Chars::Any,
        other => panic!("{other}"),
    })
}

fn also(fact: &str) -> Vec<(Via, u16)> {
    let port = |scheme: &str| {
        let listed = fact.split(';').find_map(|entry| entry.strip_prefix(scheme)?.strip_prefix('='))?;
        listed.split(',').next()?.parse().ok()
    };
    [(Via::Https, port("https")), (Via::Socks5h, port("socks5"))]
        .into_iter()
        .filter_map(|(via, port)| Some((via, port?)))
        .collect()
}

/// The columns in which a row is not what the line says.
fn differences(row: &Provider, line: &Line) -> Vec<&'static str> {
    let text = |column: &str, ours: &str| {
        let fact = renamed(column, line[column]);
        without_options(ours, &fact) == fact
    };
    let (first, last) = match row.ports {
        Ports::One(port) => (port, port),
        Ports::Range(first, last) => (first, last),
        Ports::Given => (0, 0),
    };
    let Life { default, most, idle, from_use, .. } = row.life;
    let loss = match line["on_loss"] {
        loss if loss.starts_with("new") => OnLoss::NewExit,
        loss if loss.starts_with("error") => OnLoss::Refuses,
        _ => OnLoss::Unknown,
    };
    let range = line["ports"].strip_prefix("range=").filter(|_| line["session_in"] == "port");
    let mut others = also(line["ports"]);
    others.retain(|(via, _)| *via != row.via);
    let speaks = |via: &Via| {
        let scheme = if via.is_socks() { "socks5" } else { via.scheme() };
        line["schemes"].split(',').any(|known| known == scheme)
    };
    let token = row.token;
    [
        ("user", text("user", row.user)),
        ("password", text("password", row.password)),
        ("host", text("host", row.host)),
        ("port", u32::from(first) == number(line["port"])),
        ("ports", range.is_none_or(|range| range == format!("{first},{last}")) && others == row.also),
        ("schemes", speaks(&row.via)),
        ("chars", token.map(|token| token.chars) == chars(line["chars"])),
        ("least", token.map_or(0, |token| u32::from(token.least)) == number(line["least"])),
        ("most", token.map_or(0, |token| u32::from(token.most)) == number(line["most"])),
        ("ttl_default", default == number(line["ttl_default"])),
        ("ttl_most", most == number(line["ttl_most"])),
        ("idle", idle == number(line["idle"])),
        ("from_use", from_use == (line["from_use"] == "yes")),
        ("on_loss", row.on_loss == loss),
        ("confidence", format!("{:?}", row.confidence).to_lowercase() == line["confidence"]),
    ]
    .into_iter()
    .filter_map(|(column, same)| (!same).then_some(column))
    .collect()
}

#[test]
fn every_row_is_what_was_written_down() {
    let facts = table(FACTS);
    assert_eq!((facts.len(), rows::ROWS.len()), (41, 41));
    let mut different = Vec::new();
    for line in &facts {
        let row = find(line["name"]).unwrap_or_else(|| panic!("{} is missing", line["name"]));
        different.extend(differences(row, line).into_iter().map(|column| (row.name, column)));
    }
    different.sort_unstable();
    let excused: Vec<_> = EXCEPTIONS.iter().map(|(name, column, _)| (*name, *column)).collect();
    assert_eq!(different, excused, "rows and columns that differ, against those that may");
}

/// The gateway with a value for each placeholder of its template; the optional ones too, unless they are places.
fn sample(row: &Provider, fields: &str) -> Gateway {
    let template = row.template();
    let has = |names: &[&str]| names.iter().any(|name| template.contains(&format!("{{{name}}}")));
    let mut gateway = Gateway::provider(row.name).unwrap();
    let given = |names: &[&str], value| if has(names) { value } else { "" };
    gateway = gateway.login(given(&["user"], "acme"), given(&["pass"], "pw1"));
    for (name, value) in fields.split(',').filter_map(|field| field.split_once('=')) {
        gateway = gateway.field(name, value);
    }
    if has(&["ttl", "ttl_min", "ttl_s"]) {
        gateway = gateway.ttl(Duration::from_secs(600));
    }
    gateway
}

fn exit(gateway: &Gateway) -> Exit {
    gateway.exit(&Session { salt: 1, rider: 2, generation: 0, window: 0 }, 7)
}

/// `expected` with the token that `rendered` has in its place; the token.
fn token_of(rendered: &str, expected: &str) -> Option<String> {
    let (before, after) = expected.split_once("<session>")?;
    let token = rendered.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    Some(token.unwrap_or_else(|| panic!("{rendered} is not {expected}")).to_owned())
}

#[test]
fn every_template_renders_what_its_provider_shows() {
    let renders = table(RENDERS);
    assert_eq!(renders.len(), 41);
    for line in renders {
        let row = find(line["name"]).unwrap();
        let gateway = sample(row, line["fields"]);
        gateway.check().unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let exit = exit(&gateway);
        let route = exit.route();
        let login = route.credential().map_or(["-", "-"], |login| [login.user(), login.password()]);
        let address = route.url();
        let mut tokens = Vec::new();
        for (rendered, expected) in login.into_iter().zip([line["user"], line["password"]]) {
            let rendered = if rendered.is_empty() { "-" } else { rendered };
            match token_of(rendered, expected) {
                Some(token) => tokens.push(token),
                None => assert_eq!(rendered, expected, "{}", row.name),
            }
        }
        match token_of(&address, line["address"]) {
            Some(port) => {
                let port: u16 = port.parse().unwrap();
                assert!(matches!(row.ports, Ports::Range(first, last) if (first..=last).contains(&port)));
                assert_eq!(port, gateway.port() + 7, "the eighth");
            }
            None => assert_eq!(address, line["address"], "{}", row.name),
        }
        assert_eq!(route.vendor(), row.vendor, "{}", row.name);
        let country = line["fields"].contains("country=us");
        assert_eq!(gateway.where_from(), country.then_some("us"), "{}", row.name);
        assert_eq!(
            gateway.is_rotating(),
            tokens.is_empty() && !line["address"].contains('<'),
            "{}",
            row.name
        );
        for token in tokens {
            let Token { chars, least, most, .. } = row.token.unwrap();
            let good = |byte: u8| match chars {
                Chars::Digits => byte.is_ascii_digit(),
                Chars::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
                _ => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            };
            assert!(token.bytes().all(good) && !token.starts_with('0') | (chars == Chars::Hex), "{token}");
            assert!(token.len() >= least.into() && (most == 0 || token.len() <= most.into()), "{token}");
        }
    }
}

#[test]
fn what_may_be_left_out_is_left_out() {
    let user = |gateway: &Gateway| exit(gateway).route().credential().unwrap().user().to_owned();
    for row in providers() {
        // What stands in no brackets must be given, and nothing else.
        let template = row.template();
        let mut gateway = Gateway::provider(row.name).unwrap();
        let login = without_options(&template, "");
        for name in login.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name) {
            gateway = match name {
                "session" => gateway,
                "country" | "COUNTRY" => gateway.country("de"),
                "ttl" | "ttl_min" | "ttl_s" => gateway.ttl(Duration::from_secs(600)),
                "port" => gateway.field(name, "8000"),
                name => gateway.field(name, "x"),
            };
        }
        assert!(gateway.check().is_ok(), "{}: {:?}", row.name, gateway.check());
        let exit = exit(&gateway);
        let rendered = exit
            .route()
            .credential()
            .map_or(String::new(), |login| format!("{} {}", login.user(), login.password()));
        assert!(!rendered.contains(['{', '}', '[', ']']), "{}: {rendered}", row.name);
        let lifetime = ["{ttl}", "{ttl_min}", "{ttl_s}"].iter().any(|ttl| template.contains(ttl));
        let given = ["{ttl}", "{ttl_min}", "{ttl_s}"].iter().any(|ttl| login.contains(ttl));
        if lifetime {
            assert_eq!(
                given,
                row.life.default == 0,
                "{}: a lifetime is asked for if none is known",
                row.name
            );
            let held = if given { 600 } else { row.life.default };
            assert_eq!(gateway.held_at_most(), Some(Duration::from_secs(held.into())), "{}", row.name);
        }
    }
    let gateway = || Gateway::provider("oxylabs").unwrap().login("acme", "pw1");
    assert!(user(&gateway()).starts_with("customer-acme-sessid-") && !user(&gateway()).contains("sesstime"));
    let there = user(&gateway().country("us").state("us_california").city("st_petersburg"));
    assert!(there.starts_with("customer-acme-cc-US-st-us_california-city-st_petersburg-sessid-"), "{there}");
}

#[test]
fn lifetimes_are_the_providers() {
    let secs = |seconds| Some(Duration::from_secs(seconds));
    for (name, held, idle) in [
        // Kept alive by use.
        ("brightdata", None, secs(420)),
        ("apify", None, secs(60)),
        ("scraperapi", None, secs(900)),
        ("oxylabs", secs(600), secs(60)),
        ("oxylabs-port", secs(600), None),
        ("netnut", secs(1_800), None),
        ("iproyal", secs(604_800), None),
        ("thordata", secs(600), secs(90)),
        ("evomi", secs(2_400), None),
        ("proxyseller", None, secs(3_600)),
        ("tor", secs(600), None),
        ("webshare", None, None),
    ] {
        let gateway = Gateway::provider(name).unwrap();
        assert_eq!((gateway.held_at_most(), gateway.idle_at_most()), (held, idle), "{name}");
    }
    let gateway = Gateway::provider("oxylabs").unwrap().ttl(Duration::from_secs(1_800));
    assert_eq!((gateway.held_at_most(), gateway.idle_at_most()), (secs(1_800), secs(60)));
    assert_eq!(gateway.lifetime(Duration::from_secs(900)).held_at_most(), secs(900));
}

#[test]
fn rows_can_be_found_and_read() {
    let names: BTreeSet<_> = providers().map(Provider::name).collect();
    assert_eq!(names.len(), rows::ROWS.len());
    assert!(rows::ROWS.is_sorted_by_key(Provider::name));
    for row in providers() {
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(row.name().bytes().all(good) && !row.company().is_empty() && !row.source().is_empty());
        let template = row.template();
        let read = Gateway::parse(&template).or_else(|_| Gateway::rotating(&template));
        let read = read.unwrap_or_else(|error| panic!("{template}: {error}"));
        let of_row = Gateway::provider(row.name()).unwrap();
        assert_eq!((read.id(), read.is_rotating()), (of_row.id(), of_row.is_rotating()), "{template}");
        assert!(row.to_string().starts_with(&format!("{}: {} (", row.name(), row.company())));
        if let Some(vendor) = Vendor::of_host(row.host) {
            assert_eq!(row.vendor(), Some(vendor), "{}", row.host);
        }
    }
    let error = |name: &str| Gateway::provider(name).unwrap_err().to_string();
    assert!(error("bright-data").contains("did you mean `brightdata`?"), "{}", error("bright-data"));
    assert!(!error("nobody").contains("did you mean") && error("nobody").contains("providers() lists"));
}
