//! Every signal that is known, by the words of the outcome that it has here.

mod table;

use super::{On, Reply, own_word};
use crate::classify::{failure, status};
use crate::exit::Vendor;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, Failure, GatewayScope, Outcome, Phase, ReasonPhrase, RetryAfter, Seen,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::time::{Duration, SystemTime};

/// An answer of a test.
#[derive(Clone, Debug)]
struct Told {
    vendor: Option<Vendor>,
    status: u16,
    headers: HeaderMap,
    phrase: Option<ReasonPhrase>,
    body: Bytes,
}

impl Told {
    fn new(status: u16) -> Self {
        Self { vendor: None, status, headers: HeaderMap::new(), phrase: None, body: Bytes::new() }
    }

    fn by(mut self, vendor: Vendor) -> Self {
        self.vendor = Some(vendor);
        self
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap();
        self.headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
        self
    }

    fn phrase(mut self, phrase: &str) -> Self {
        self.phrase = Some(ReasonPhrase::new(phrase.to_owned()));
        self
    }

    fn body(mut self, body: &'static str) -> Self {
        self.body = Bytes::from_static(body.as_bytes());
        self
    }

    /// As the reply to a CONNECT.
    fn refused(&self) -> Evidence {
        let mut answer = Response::new(self.body.clone());
        *answer.status_mut() = StatusCode::from_u16(self.status).unwrap();
        *answer.headers_mut() = self.headers.clone();
        if let Some(phrase) = &self.phrase {
            answer.extensions_mut().insert(phrase.clone());
        }
        let refused = Failure::new(Phase::Tunnel, Seen::Never).refused(answer);
        failure::error(&refused, self.vendor, SystemTime::UNIX_EPOCH).0
    }

    /// As the answer to a request.
    fn answered(&self, tunnelled: bool) -> Evidence {
        let (vendor, phrase) = (self.vendor, self.phrase.as_ref());
        let carried = status::Carried { tunnelled, kept: true, vendor, phrase };
        let code = StatusCode::from_u16(self.status).unwrap();
        // Walls are another table's affair.
        let here = status::Here { site: None, pages: false };
        status::head(code, &self.headers, carried, here, SystemTime::UNIX_EPOCH).evidence
    }

    /// Whether the proxy has said it.
    fn is_own(&self, on: On) -> bool {
        let status = StatusCode::from_u16(self.status).unwrap();
        let Self { vendor, ref headers, ref phrase, ref body, .. } = *self;
        own_word(&Reply { on, vendor, status, headers, phrase: phrase.as_ref(), body }).is_some()
    }
}

const REJECTED: Outcome = Outcome::AuthError { reason: AuthReason::Rejected };
const DENIED: Outcome = Outcome::TargetDenied;

#[test]
fn a_code_overrides_the_status_even_of_a_success() {
    for status in [200, 403, 502] {
        let told = Told::new(status).header("x-brd-err-code", "policy_20050");
        assert_eq!((told.refused().outcome, told.answered(false).outcome), (DENIED, DENIED), "{status}");
    }
    // What is not known yet: by its family, or by what stands after it.
    let new = |code, status| Told::new(status).header("x-brd-err-code", code).answered(false).outcome;
    assert_eq!(new("policy_99999", 200), DENIED);
    assert_eq!(new("peer_99999", 200), Outcome::ProxyError { phase: Phase::Tunnel });
    assert_eq!(new("target_99999", 502), Outcome::TargetUnreachable);
    assert_eq!(new("client_99999", 200), Outcome::Fatal, "an empty page is no success");
    assert_eq!(new("client_99999", 503), Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE });
    assert_eq!(new("", 200), Outcome::Ok);
    let old = Told::new(502).header("x-luminati-error-code", "client_10100");
    assert_eq!(old.refused().outcome, Outcome::AuthError { reason: AuthReason::Quota });
}

#[test]
fn a_code_goes_before_proxy_status_and_that_before_phrase_and_status() {
    let full = |scope| Outcome::GatewayOverloaded { retry_after: None, scope };
    let status = Told::new(502).by(Vendor::DataImpulse).phrase("NO_HOST_CONNECTION");
    assert_eq!(status.refused().outcome, Outcome::TargetUnreachable);
    let said = status.clone().header("proxy-status", "gw; error=connection_limit_reached");
    assert_eq!(said.refused().outcome, full(GatewayScope::Gateway));
    let coded = said.header("x-brd-err-code", "policy_20220");
    assert_eq!(coded.refused().outcome, full(GatewayScope::Target));
    // The text is worth less than the code that comes behind it.
    let both = Told::new(502)
        .header("x-brd-error", "server_error Failed to establish connection with peer")
        .header("x-brd-err-code", "target_40001");
    assert_eq!(both.refused().outcome, Outcome::TargetFailed);
}

#[test]
fn proxy_status_is_read_leniently_and_the_nearest_hop_counts() {
    let said = |status, value: &str| Told::new(status).header("proxy-status", value).refused().outcome;
    let (exit, failed) = (Outcome::ProxyError { phase: Phase::Tunnel }, Outcome::TargetFailed);
    for (value, outcome) in [
        ("gw; error=dns_error", failed),
        ("gw; error=\"dns_error\"", failed),
        ("\"gw one\"; received-status=502; error=dns_error; rcode=\"NXDOMAIN\"", failed),
        ("far; error=dns_error, near; error=http_protocol_error", exit),
        ("far; error=dns_error, near; next-hop=far", failed),
        ("far; error=dns_error, (a b); error=http_protocol_error", failed),
        ("gw; error=http_protocol_error; error=dns_error", failed),
        ("gw; error=http_request_denied; details=\"policy_20070: no\"", DENIED),
        ("gw; error=http_protocol_error; details=\"target-40001 no such name\"", failed),
        ("gw; error=dns_error; details=\"client_99999\"", failed),
        ("gw; error=dns_error; details=token", failed),
        // Nothing is said: the status stands.
        ("gw; error=of_tomorrow", Outcome::TargetUnreachable),
        ("gw; error=1", Outcome::TargetUnreachable),
        ("gw", Outcome::TargetUnreachable),
        ("gw; error=dns_error, ;", Outcome::TargetUnreachable),
        ("", Outcome::TargetUnreachable),
        ("\u{e9}; error=dns_error", Outcome::TargetUnreachable),
    ] {
        assert_eq!(said(502, value), outcome, "{value}");
    }
    let lines =
        Told::new(502).header("proxy-status", "far; error=dns_error").header("proxy-status", "near; ;");
    assert_eq!(lines.refused().outcome, failed, "a line that cannot be read leaves the others");
    let behind = Told::new(200).header("proxy-status", "far; error=connection_timeout");
    assert!(!behind.is_own(On::PLAIN), "a hop that another has made good");
}

#[test]
fn inside_of_a_tunnel_only_who_ends_its_tls_is_believed() {
    let marks = [
        ("x-brd-err-code", "policy_20050"),
        ("x-squid-error", "ERR_DNS_FAIL 0"),
        ("zyte-error", "banned"),
        ("proxy-status", "gw; error=dns_error"),
    ];
    let all = marks.iter().fold(Told::new(503), |told, (name, value)| told.header(name, value));
    assert!(!all.is_own(On::TUNNEL), "a site may send all that");
    for vendor in [Vendor::Squid, Vendor::Nimble, Vendor::IpRoyal, Vendor::Oxylabs] {
        assert!(!all.clone().by(vendor).is_own(On::TUNNEL), "{vendor:?}");
    }
    assert_eq!(all.clone().by(Vendor::BrightData).answered(true).outcome, DENIED);
    let banned = all.by(Vendor::Zyte).answered(true);
    assert_eq!(banned.outcome, Outcome::Blocked { by: BlockedBy::Exit });
    // A site that wants to stop its visitors' logins: whose login is refused gets no tunnel there.
    let forged = Told::new(407).by(Vendor::BrightData).header("x-brd-err-code", "client_10020");
    assert!(!forged.is_own(On::TUNNEL));
    assert_eq!(forged.refused().outcome, Outcome::AuthError { reason: AuthReason::Suspended });
    let refused = Told::new(407).by(Vendor::Zyte).header("x-crawlera-error", "bad_proxy_auth");
    assert_eq!((refused.refused().outcome, refused.answered(true).outcome), (REJECTED, Outcome::Fatal));
    let forbidden = Told::new(403).by(Vendor::ScraperApi).answered(true);
    assert_eq!(forbidden.outcome, Outcome::Blocked { by: BlockedBy::Unknown });
    // The tunnel was kept: what is said inside proves no login.
    let failed = Told::new(502).by(Vendor::BrightData).header("x-brd-err-code", "peer_30040").answered(true);
    assert_eq!((failed.outcome, failed.login_accepted), (Outcome::TargetUnreachable, false));
}

#[test]
fn a_vendor_that_is_known_is_heard_by_its_own_marks_alone_where_a_site_may_speak() {
    let marks = [
        (Vendor::BrightData, 400, "x-brd-err-code", "client_10020"),
        (Vendor::Webshare, 402, "x-webshare-reason", "402"),
        (Vendor::Soax, 400, "x-soax-error", "AUTH_FAILED"),
        (Vendor::Zyte, 403, "zyte-error", "user_suspended"),
        (Vendor::Oxylabs, 407, "x-error-description", "traffic limit reached"),
    ];
    for (whose, status, name, value) in marks {
        let (bare, told) = (Told::new(status), Told::new(status).header(name, value));
        for (by, ..) in marks.into_iter().chain([(Vendor::IpRoyal, 0, "", ""), (Vendor::Squid, 0, "", "")]) {
            let own = told.clone().by(by).answered(false).outcome;
            let foreign = bare.clone().by(by).answered(false).outcome;
            assert_eq!(own != foreign, by == whose, "{by:?} {name}: {own:?}");
            let connect = told.clone().by(by).refused().outcome;
            assert_eq!(connect, told.refused().outcome, "{by:?} {name}: no site sees a CONNECT");
        }
        assert!(told.is_own(On::PLAIN), "{name}: it names its vendor");
    }
    let squid = Told::new(403).header("x-squid-error", "ERR_ACCESS_DENIED 0").by(Vendor::IpRoyal);
    assert_eq!(squid.answered(false).outcome, DENIED, "one may stand before any of them");
    let manager = Told::new(400).header("x-brd-err-code", "policy_20050").by(Vendor::LuminatiManager);
    assert_eq!(manager.answered(false).outcome, DENIED, "it hands on what is said to it");
    let details = Told::new(502)
        .by(Vendor::IpRoyal)
        .header("proxy-status", "gw; error=dns_error; details=\"client_10020 no\"");
    assert_eq!(details.answered(false).outcome, Outcome::TargetFailed);
    let delayed = Told::new(503).header("zyte-request-id", "1").header("retry-after", "9");
    assert!(delayed.is_own(On::PLAIN) && !delayed.by(Vendor::IpRoyal).is_own(On::PLAIN));
}

#[test]
fn where_a_site_may_speak_a_wait_is_taken_for_a_minute_at_most() {
    let wait = |told: &Evidence| told.retry_after.unwrap().wait().as_secs();
    for (asked, taken) in [(9, 9), (60, 60), (61, 60), (3600, 60)] {
        let told = |status| Told::new(status).header("retry-after", &asked.to_string());
        let full = told(407);
        assert_eq!((wait(&full.answered(false)), wait(&full.refused())), (taken, asked));
        let busy = told(429).by(Vendor::ScraperApi).answered(true);
        let scope = GatewayScope::Target;
        assert_eq!(busy.outcome, Outcome::GatewayOverloaded { retry_after: busy.retry_after, scope });
        assert_eq!(wait(&busy), taken);
        // The site's own word keeps its wait: it rests the pair.
        assert_eq!(wait(&told(429).answered(true)), asked);
    }
}

#[test]
fn what_a_phrase_or_a_status_says_is_known_of_a_known_vendor_alone() {
    let said = |vendor, phrase: &str| Told::new(407).by(vendor).phrase(phrase).refused().outcome;
    let parameters = Outcome::AuthError { reason: AuthReason::Parameters };
    let phrase = "request parameters 'country state' do not match zone permissions";
    assert_eq!(said(Vendor::BrightData, phrase), parameters);
    let capacity = Outcome::AuthError { reason: AuthReason::Capacity };
    assert_eq!(said(Vendor::Decodo, phrase), capacity);
    assert_eq!(Told::new(466).refused().outcome, Outcome::ProxyError { phase: Phase::Tunnel });
    let quota = Told::new(466).by(Vendor::Geonode);
    let spent = Outcome::AuthError { reason: AuthReason::Quota };
    assert_eq!((quota.refused().outcome, quota.answered(false).outcome), (spent, spent));
    // On an address of a list 404 is a web server's; a provider's gateway speaks of the request.
    let strange = Told::new(404);
    assert_eq!(strange.refused().outcome, Outcome::ProxyError { phase: Phase::Tunnel });
    assert_eq!(strange.clone().by(Vendor::Squid).refused().outcome, strange.refused().outcome);
    assert_eq!(strange.by(Vendor::IpRoyal).refused().outcome, Outcome::Fatal);
    assert_eq!(Told::new(408).by(Vendor::IpRoyal).refused().outcome, Told::new(408).refused().outcome);
}

#[test]
fn programs_of_lists_name_themselves() {
    let broke = Outcome::Interrupted { phase: Phase::Head };
    for (status, name, value, outcome, seen) in [
        (503, "x-squid-error", "ERR_CONNECT_FAIL 111", Outcome::TargetUnreachable, Seen::Never),
        (500, "x-squid-error", "ERR_CANNOT_FORWARD 0", Outcome::TargetUnreachable, Seen::Never),
        (503, "x-squid-error", "ERR_DNS_FAIL 0", Outcome::TargetFailed, Seen::Never),
        (403, "x-squid-error", "ERR_ACCESS_DENIED 0", DENIED, Seen::Never),
        (502, "x-squid-error", "ERR_ZERO_SIZE_OBJECT", broke, Seen::Unknown),
        (400, "x-squid-error", "ERR_INVALID_REQ 0", Outcome::Fatal, Seen::Never),
        (500, "server", "tinyproxy/1.11.1", Outcome::TargetUnreachable, Seen::Unknown),
        (401, "server", "Tinyproxy/1.11.1", REJECTED, Seen::Never),
        (403, "server", "tinyproxy/1.11.1", DENIED, Seen::Never),
    ] {
        let evidence = Told::new(status).header(name, value).answered(false);
        assert_eq!((evidence.outcome, evidence.seen), (outcome, seen), "{status} {name}: {value}");
    }
    for (status, name, value) in [
        (503, "x-squid-error", "ERR_OF_TOMORROW"),
        (200, "server", "tinyproxy/1.11.1"),
        (500, "server", "nginx"),
        (500, "server", "tiny"),
        (503, "x-error-description", "the database is down"),
        (500, "x-brand", "policy_20050"),
    ] {
        assert!(!Told::new(status).header(name, value).is_own(On::PLAIN), "{status} {name}: {value}");
    }
}

#[test]
fn a_word_of_the_way_behind_proves_the_login_and_a_hint_goes_with_any() {
    let wait = RetryAfter::new(Duration::from_secs(9));
    let told = |value| Told::new(503).header("zyte-error", value).header("retry-after", "9").answered(false);
    let (busy, gone) = (told("serverbusy"), told("bad_session_id"));
    let full = Outcome::GatewayOverloaded { retry_after: Some(wait), scope: GatewayScope::Gateway };
    assert_eq!((busy.outcome, busy.login_accepted, busy.seen), (full, false, Seen::Never));
    assert_eq!((gone.outcome, gone.login_accepted), (Outcome::SessionLost, true));
    assert_eq!((gone.retry_after, gone.seen), (Some(wait), Seen::Never));
    assert_eq!(told("banned").seen, Seen::Unknown);
}

#[test]
fn a_refusals_body_says_why_an_account_is_not_let_in() {
    let told = Told::new(403).body(r#"{"error":{"code":"kyc_required","message":"a \"form\""}}"#);
    let suspended = Outcome::AuthError { reason: AuthReason::Suspended };
    assert_eq!(told.clone().by(Vendor::BrightData).refused().outcome, suspended);
    assert_eq!(told.refused().outcome, DENIED);
}

#[test]
fn an_answer_that_says_nothing_costs_no_allocation() {
    let told = Told::new(200).header("server", "nginx").header("x-request-id", "7").header("vary", "accept");
    for vendor in [None, Some(Vendor::BrightData)] {
        let told = Told { vendor, ..told.clone() };
        let costs = allocation_counter::measure(|| {
            for tunnelled in [true, false] {
                assert_eq!(told.answered(tunnelled).outcome, Outcome::Ok);
                assert_eq!(super::egress(vendor, &told.headers, None, tunnelled), None);
            }
        });
        assert_eq!(costs.count_total, 0);
    }
}
