//! The list of all signals, line by line, and by which rule each line means what it means.

use super::Told;
use crate::classify::failure;
use crate::exit::Vendor;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, Failure, GatewayScope, Outcome, Phase, Seen, SocksRefusal,
};
use std::collections::BTreeSet;
use std::io;
use std::time::SystemTime;

/// Signals in the list.
const SIGNALS: usize = 270;

/// Why a line means something else than the rule of its domain and scope says.
const REASONS: &[(&str, &str)] = &[
    (
        "site",
        "in answer to a plain request the status alone may be the site's: its 404 or 500 must not rest a gateway",
    ),
    ("402", "as before; and a site that wants money would stop the login of whoever visits it"),
    ("body", "a plain answer's body comes after its head; by its status it is a block"),
    (
        "gateway",
        "one exit of a list is dead; the pool blames the gateway by itself when many of its exits are",
    ),
    (
        "reached",
        "squid had reached the site, which may have acted on a plain request: broken off, not unreachable",
    ),
    (
        "target",
        "unmarked, it says that this target was not reached: that of one target must not cost the exit all",
    ),
    (
        FORGED,
        "inside of a tunnel any site could forge it: it reaches no further than the pair of exit and site, and says nothing of a login",
    ),
    ("poser", "a web server that poses as a proxy: the exit's fault, and no reason to end the request"),
    ("command", "CONNECT is the one command that is sent: a proxy without it serves nobody"),
    ("kind", "the exit takes no address of this kind, another may: its way to this target, not the request"),
];

/// The reason that is a rule itself.
const FORGED: &str = "forged";

/// What is left inside of a tunnel of what is said.
fn inside(says: &str) -> &str {
    match says {
        "exit" | "session" => "unreachable",
        busy if busy.starts_with("busy:") => "busy:target",
        login if login.starts_with("login:") => "-",
        says => says,
    }
}

struct Line<'a> {
    number: usize,
    provider: &'a str,
    phase: &'a str,
    status: &'a str,
    header: &'a str,
    value: &'a str,
    phrase: &'a str,
    domain: &'a str,
    scope: &'a str,
    wanted: &'a str,
    why: &'a str,
}

fn lines() -> Vec<Line<'static>> {
    let lines = include_str!("gateway.tsv").lines().filter(|line| !line.starts_with('#'));
    let line = |line: &'static str| {
        let [number, provider, phase, status, header, value, phrase, domain, scope, wanted, why] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line:?} has not eleven fields")
        };
        let number = number.parse().unwrap();
        Line { number, provider, phase, status, header, value, phrase, domain, scope, wanted, why }
    };
    lines.map(line).collect()
}

fn vendor(provider: &str) -> Option<Vendor> {
    Some(match provider {
        "Apify / proxy-chain" => Vendor::Apify,
        "Bright Data" => Vendor::BrightData,
        "Bytio" => Vendor::Bytio,
        "DataImpulse" => Vendor::DataImpulse,
        "Decodo" => Vendor::Decodo,
        "Geonode" => Vendor::Geonode,
        "Helodata" => Vendor::Helodata,
        "IPRoyal" => Vendor::IpRoyal,
        "NetNut" => Vendor::NetNut,
        "Nimble" => Vendor::Nimble,
        "NodeMaven" => Vendor::NodeMaven,
        "Oxylabs" | "Oxylabs residential/mobile" => Vendor::Oxylabs,
        "Oxylabs datacenter/ISP" => Vendor::OxylabsDatacenter,
        "Oxylabs shared DC" => Vendor::OxylabsShared,
        "SOAX" => Vendor::Soax,
        "ScraperAPI" => Vendor::ScraperApi,
        "Squid-based" => Vendor::Squid,
        "Thordata" => Vendor::Thordata,
        "Tor ExtendedErrors" => Vendor::Tor,
        "Webshare" => Vendor::Webshare,
        "Zyte" | "Zyte SPM / Crawlera" => Vendor::Zyte,
        "3proxy" => Vendor::ThreeProxy,
        "anyIP" => Vendor::AnyIp,
        "luminati-proxy (local LPM)" => Vendor::LuminatiManager,
        "proxies.fo" => Vendor::ProxiesFo,
        "tinyproxy" => Vendor::Tinyproxy,
        "any" | "any (RFC 9209)" | "SOCKS5" => return None,
        other => panic!("{other}: whose is it?"),
    })
}

/// An outcome in the list's words.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::ProxyError { .. } => "exit",
        Outcome::SessionLost => "session",
        Outcome::TargetUnreachable => "unreachable",
        Outcome::TargetFailed => "failed",
        Outcome::TargetDenied => "denied",
        Outcome::RateLimited { .. } => "limited",
        Outcome::Blocked { by: BlockedBy::Exit } => "blocked",
        Outcome::Interrupted { phase: Phase::Head } => "broke",
        Outcome::Fatal => "fatal",
        Outcome::GatewayOverloaded { scope, .. } => match scope {
            GatewayScope::Gateway => "busy:gateway",
            GatewayScope::Credential => "busy:credential",
            GatewayScope::Target => "busy:target",
            GatewayScope::Place => "busy:place",
            GatewayScope::Exit => "busy:exit",
        },
        Outcome::AuthError { reason } => match reason {
            AuthReason::Rejected => "login:rejected",
            AuthReason::Expired => "login:expired",
            AuthReason::Quota => "login:quota",
            AuthReason::Capacity => "login:capacity",
            AuthReason::Suspended => "login:suspended",
            AuthReason::Parameters => "login:parameters",
        },
        _ => "another",
    }
}

/// What may become of a signal by its domain and scope.
fn ruled(domain: &str, scope: &str) -> &'static [&'static str] {
    match (domain, scope) {
        ("exit_dead", "exit") => &["exit"],
        ("exit_dead", "session") => &["session"],
        ("exit_dead", "target") => &["unreachable"],
        ("fatal", "target") => &["failed"],
        ("target_denied", _) => &["denied"],
        ("gateway_overloaded", "provider") => &["busy:gateway"],
        ("gateway_overloaded", "credential") => &["busy:credential"],
        ("gateway_overloaded", "target") => &["busy:target"],
        ("gateway_overloaded", "geo") => &["busy:place"],
        ("gateway_overloaded", "session") => &["busy:exit"],
        ("credential_dead", _) => &["login:rejected", "login:quota", "login:suspended"],
        // A parameter of the login ends it; the request's own fault ends the request.
        ("fatal", "geo") => &["login:parameters"],
        ("fatal", "request") => &["login:parameters", "fatal"],
        // A proxy in a circle, or set up wrongly, or one that stands between: another exit may be right, time may heal it, and
        // no login stops for it until somebody comes.
        ("fatal", "provider") => &["exit"],
        ("rate_limited", _) => &["limited"],
        ("blocked", _) => &["blocked"],
        // Left to what stands after it.
        ("ok" | "None" | "-" | "(by status)" | "(by code)" | "(by text)", _) => &["-"],
        other => panic!("{other:?}: no rule"),
    }
}

impl Line<'_> {
    /// Of the wire alone: no answer.
    fn broken(&self) -> Option<Failure> {
        let failure = match (self.phase, self.value) {
            ("tcp", _) => Failure::new(Phase::ExitTcp, Seen::Never),
            ("tls", _) => Failure::new(Phase::ExitTls, Seen::Never),
            ("connect", "EOF before a status line") | ("socks5", "EOF instead of reply") => {
                let eof = io::Error::from(io::ErrorKind::UnexpectedEof);
                Failure::new(Phase::Tunnel, Seen::Never).because(eof)
            }
            ("connect", "no bytes within the CONNECT deadline") => {
                Failure::new(Phase::Tunnel, Seen::Never).timed_out()
            }
            ("socks5", code) => {
                let code = match code {
                    "method 0xFF" => SocksRefusal::Method(0xff),
                    "auth status != 0" => SocksRefusal::Login(1),
                    code => {
                        let digits = code.trim_start_matches("0x").trim_end_matches('.');
                        SocksRefusal::Reply(u8::from_str_radix(digits, 16).unwrap())
                    }
                };
                Failure::new(Phase::Tunnel, Seen::Never).refused_by_socks(code)
            }
            _ => return None,
        };
        Some(failure)
    }

    /// The answer without what tells it from others, and with it.
    fn answers(&self) -> (Told, Told) {
        let bare = Told::new(self.status.parse().unwrap());
        let value = match self.value {
            "seconds" => "30".to_owned(),
            value => value.replace('*', "9"),
        };
        let told = match self.header {
            // The whole line is lost on the wire.
            "-" | "Proxy Connection" => bare.clone(),
            _ if self.value == "absent" => bare.clone(),
            "server" => bare.clone().header("server", "cloudflare").header("cf-ray", "-"),
            "body error.code" if value == "kyc_required" => {
                bare.clone().body(r#"{"error":{"code":"kyc_required"}}"#)
            }
            "body error.code" => bare.clone().body(r#"{"error":{"code":"business_account_required"}}"#),
            name => bare.clone().header(name, &value),
        };
        match self.phrase {
            "-" => (bare, told),
            phrase => (bare, told.phrase(&phrase.replace('*', "9"))),
        }
    }

    fn classified(&self, told: &Told) -> Evidence {
        match self.phase {
            "connect" => told.refused(),
            "plain" => told.answered(false),
            "mitm" | "tunnel" => told.answered(true),
            phase => panic!("{phase}: no such phase"),
        }
    }

    fn check(&self) {
        let at = format!(
            "{} {} {} {} {}: {} {}",
            self.number, self.provider, self.phase, self.status, self.header, self.value, self.phrase
        );
        let ruled = ruled(self.domain, self.scope);
        if self.phase == "mitm" {
            let left = ruled.iter().any(|says| inside(says) == self.wanted);
            assert!(left, "{at}: against the rule inside of a tunnel");
        } else {
            assert_ne!(self.why, FORGED, "{at}: no site is asked there");
        }
        match self.why {
            "-" => assert!(ruled.contains(&self.wanted), "{at}: against the rule"),
            why => {
                assert!(REASONS.iter().any(|(key, _)| *key == why), "{at}: {why} is no reason");
                assert!(!ruled.contains(&self.wanted), "{at}: {why} is not needed");
            }
        }
        if let Some(failure) = self.broken() {
            let (evidence, _) = failure::error(&failure, vendor(self.provider), SystemTime::UNIX_EPOCH);
            assert_eq!((word(evidence.outcome), evidence.seen), (self.wanted, Seen::Never), "{at}");
            return;
        }
        let (bare, told) = self.answers();
        let known = |told: &Told| Told { vendor: vendor(self.provider), ..told.clone() };
        // A header, but for the body's code and the hint, names its vendor: it need not be known, unless a site may speak.
        let marked = !matches!(self.header, "-" | "body error.code" | "retry-after");
        let mut runs = vec![known(&told)];
        // A code of which it is not said where it stands.
        if self.header == "-" && self.value != "-" {
            let code = self.value.replace('*', "9");
            let body = Told { body: format!("407: {code}.").into(), ..bare.clone() };
            runs = vec![known(&bare.clone().phrase(&code)), known(&body)];
        }
        if marked && self.phase != "mitm" {
            runs.push(told);
        }
        for told in runs {
            let outcome = self.classified(&told).outcome;
            if self.wanted == "-" {
                let bare = if marked { Told { vendor: told.vendor, ..bare.clone() } } else { bare.clone() };
                assert_eq!(outcome, self.classified(&bare).outcome, "{at}: falls through");
            } else {
                assert_eq!(word(outcome), self.wanted, "{at} ({:?})", told.vendor);
            }
            if self.phase == "connect" {
                assert_eq!(self.classified(&told).seen, Seen::Never, "{at}");
            }
        }
    }
}

#[test]
fn every_signal_means_what_is_listed_or_another_thing_with_a_reason() {
    let lines = lines();
    let numbers: BTreeSet<_> = lines.iter().map(|line| line.number).collect();
    assert!(numbers.into_iter().eq(0..SIGNALS), "a signal has no line");
    lines.iter().for_each(Line::check);
    for (key, reason) in REASONS {
        assert!(lines.iter().any(|line| line.why == *key), "{key} ({reason}) is no line's reason any more");
    }
}

#[test]
fn what_must_not_be_sent_twice_is_told_by_who_says_that_it_was_not_sent() {
    // A plain request that a proxy has answered itself may have arrived, unless it says where it failed before that.
    for line in lines().iter().filter(|line| line.phase == "plain" && line.wanted != "-") {
        let (_, told) = line.answers();
        let told = Told { vendor: vendor(line.provider), ..told };
        let seen = line.classified(&told).seen;
        let certain = !matches!(line.wanted, "exit" | "unreachable" | "failed" | "blocked" | "broke");
        assert_ne!(seen, Seen::Seen, "{} {}", line.provider, line.value);
        assert!(!certain || seen == Seen::Never, "{} {}: {seen:?}", line.provider, line.value);
    }
}
