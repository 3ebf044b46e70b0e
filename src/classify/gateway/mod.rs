//! What a proxy, or the provider behind it, says in its own name, and what happens then.
//!
//! An answer is read in this order; the first that says something counts:
//!
//! 1. A header of a vendor with a code or a text, whatever the status is, a 200 included: `x-brd-err-code` (also
//!    `x-brd-error-code`, `x-luminati-error-code`), `x-crawlera-error`, `zyte-error`, `x-soax-error`, `x-thor-error-code`,
//!    `x-webshare-reason` (also `x-webshare-error-reason`, `x-webshare-error`), `x-helodata-error-code`, `bytio-error`,
//!    `x-lpm-error`, `x-squid-error`, `x-brd-error`, `x-luminati-error`, `x-error-description`. It names the vendor.
//! 2. `Proxy-Status` with an error (RFC 9209), on a refusal: of the hop that is nearest, a code at the start of its details
//!    first.
//! 3. The reason phrase, and the body as far as it was read, of a refused CONNECT, if the [vendor](Vendor) is known.
//! 4. The status, if the vendor is known: of a refused CONNECT; of a plain answer only 407 and what no site sends (452 to 455,
//!    466, 490, 590 to 599 of those who do). tinyproxy is known by its `Server`.
//! 5. The status, whoever says it, of a refused CONNECT; and 407 of a plain answer.
//!
//! A plain answer that says nothing of all this, and what comes through a tunnel, is read as the site's: see the
//! [table](super).
//!
//! **Who may speak where.** The reply to a CONNECT is the proxy's own. In answer to a plain request a vendor that is known is
//! heard by its own marks and squid's, another's header says nothing; a wait is taken for at most 60 s, since a site may have
//! asked for it. Nothing keeps a site from sending over plain `http://` what the gateway before it would: such a word is
//! [hearsay](crate::outcome::Evidence::hearsay). It may rest a login for a minute at most, and stops none for good; a gateway that
//! serves other sites it does not rest at all. [`tunnel_http`] is the cure where the proxy takes a CONNECT to port 80.
//!
//! [`tunnel_http`]: crate::client::ExitClientBuilder::tunnel_http
//!
//! **Inside of a tunnel** only a vendor is heard that is known to end TLS itself (Bright Data, ScraperAPI, Zyte), by its own
//! marks. Since not all that it sells does so, any site could send them too, and what it says reaches no further than the pair
//! of exit and site: who is busy is busy for the target, an exit or a session that failed is a target that is not reached, a
//! word on the login is left to what stands after it, and a wait is taken for at most 60 s.
//!
//! | says | for example | outcome | what happens |
//! |---|---|---|---|
//! | the exit failed | `peer_30040`, Nimble 502, `http_protocol_error`; any status without a row | [`ProxyError`](Outcome::ProxyError) | another exit; three in a row and it is dead |
//! | the session's exit is gone | NetNut 502, `bad_session_id`, `session failed` | [`SessionLost`](Outcome::SessionLost) | another token |
//! | the target is not reached | 502, 504, `target_40020`, `ERR_CONNECT_FAIL 111`, SOCKS 3 to 5 and 8 | [`TargetUnreachable`](Outcome::TargetUnreachable) | one try through another exit |
//! | no exit reaches the target | `target_40001`, `ERR_DNS_FAIL`, Apify 593, `dns_error` | [`TargetFailed`](Outcome::TargetFailed) | the request ends, nobody is charged |
//! | it does not serve the target | 403, 451, `policy_20050`, `http_request_denied`, SOCKS 2 | [`TargetDenied`](Outcome::TargetDenied) | one try through another exit, nobody is charged |
//! | it is busy | 500, 503, 509, `serverbusy`; for the account 429; for the target `policy_20220`; for the place IPRoyal 503 | [`GatewayOverloaded`](Outcome::GatewayOverloaded) with its [scope](GatewayScope) | what is busy is left alone |
//! | the login is refused | 401, 407 with a challenge, `client_10000`, SOCKS login | [`AuthError`](Outcome::AuthError), [rejected](AuthReason::Rejected) | doubted; stopped when it is refused again; over plain http it rests then |
//! | no more traffic is paid for | 402, `client_10100`, Geonode 466 | [quota](AuthReason::Quota) | the login stops |
//! | the account may not be used | `client_10020`, `user_suspended`, `kyc_required` | [suspended](AuthReason::Suspended) | the login stops |
//! | the template is wrong | `client_10060`, `ERR_UNKNOWN_PARAM`, NodeMaven 406, proxies.fo 454 | [parameters](AuthReason::Parameters) | the login stops |
//! | there is no room | 407 without a challenge | [capacity](AuthReason::Capacity) | a short rest |
//! | the exit is to slow down | `policy_20222` | [`RateLimited`](Outcome::RateLimited) | the pair rests |
//! | the target refuses the exit | `banned`, `tls_alert_received` | [`Blocked`](Outcome::Blocked) | the pair is burned |
//! | squid had reached the site | `ERR_ZERO_SIZE_OBJECT`, of a plain request | [`Interrupted`](Outcome::Interrupted) | another exit, if it may be sent twice |
//! | the request is wrong | `client_10070`, `ERR_INVALID_REQ`; another 4xx of a provider that is known | [`Fatal`](Outcome::Fatal) | the request ends |
//!
//! A 4xx without a row from an address of a list may be a web server's that poses as a proxy: that is the exit's fault, and no
//! reason to end the request.
//!
//! **To add a provider:** a variant of [`Vendor`]; a table in the file of its group below `src/classify/gateway/`, a row for
//! each signal that it documents; the table's place in `marks.rs` if it has a header of its own, else in `rows` here; and a
//! line for each signal in `tests/gateway.tsv`.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_egress::{ClassifyLayer, ExitList, LeaseLayer, LeaseRequest, Outcome, Scheduler, Served};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let client = ServiceBuilder::new()
//!     .layer(LeaseLayer::new(&scheduler).default_lease(LeaseRequest::per_request()))
//!     .layer(ClassifyLayer::new())
//!     .service(service_fn(|_request: http::Request<Full<Bytes>>| async {
//!         // An empty page with the status of a success, and the reason in a header.
//!         let answer = http::Response::builder().header("x-brd-err-code", "policy_20050");
//!         Ok::<_, std::io::Error>(answer.body(Full::new(Bytes::new())).expect("valid"))
//!     }));
//! let response = client.oneshot(http::Request::get("http://shop.example/").body(Full::default())?).await?;
//! let served = response.extensions().get::<Served>().expect("on every response");
//! assert_eq!(served.outcome(), Outcome::TargetDenied);
//! # Ok(())
//! # }
//! ```

mod bright_data;
mod marks;
mod oxylabs;
mod programs;
mod proxy_status;
mod residential;
mod services;
mod signal;
#[cfg(test)]
mod tests;

pub(super) use signal::{On, Word};

use crate::exit::Vendor;
#[cfg(doc)]
use crate::outcome::Outcome;
use crate::outcome::{AuthReason, Connection, Egress, GatewayScope, ReasonPhrase, RetryAfter};
use http::header::{PROXY_AUTHENTICATE, RETRY_AFTER, SERVER};
use http::{Extensions, HeaderMap, StatusCode};
use signal::{Says, Signal};
use std::time::Duration;

/// An answer that may be a proxy's own.
#[derive(Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) on: On,
    pub(super) vendor: Option<Vendor>,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    /// The reason phrase, if it is not the status's own.
    pub(super) phrase: Option<&'a ReasonPhrase>,
    /// What came with the refusal of a CONNECT.
    pub(super) body: &'a [u8],
}

/// The proxy's own word; `None` if the answer is the origin's, or nobody's that can be told.
pub(super) fn own_word(reply: &Reply<'_>) -> Option<Word> {
    if reply.on == On::TUNNEL {
        let speaks = reply.vendor.is_some_and(ends_tls);
        let marked = || marks::word(reply).and_then(Word::inside);
        return if speaks { marked().or_else(|| of_vendor(reply).and_then(Word::inside)) } else { None };
    }
    if let Some(word) = marks::word(reply) {
        return Some(word);
    }
    if reply.status.as_u16() < 400 {
        return None;
    }
    of_vendor(reply).or_else(|| of_anybody(reply))
}

/// The longest wait that is taken of a proxy's word where a site may have said it: 60 s, so that no single answer holds for an
/// hour what serves other sites too.
const LONGEST: Duration = Duration::from_secs(60);

/// The wait that goes with a proxy's word in an answer to a request. A refused CONNECT keeps its own.
pub(super) fn wait(hint: Option<RetryAfter>) -> Option<RetryAfter> {
    hint.map(|hint| hint.min(RetryAfter::new(LONGEST)))
}

/// What a vendor says by phrase, body and status.
fn of_vendor(reply: &Reply<'_>) -> Option<Word> {
    let vendor = reply.vendor.or_else(|| tinyproxy(reply.headers));
    let rows = vendor.map_or(&[][..], rows);
    let phrase = reply.phrase.map_or(&[][..], ReasonPhrase::as_bytes);
    reply.first(rows, phrase).or_else(|| reply.first(bodies(reply.vendor), reply.body)).or_else(|| {
        let heard = marks::is_heard(reply, Vendor::Zyte);
        let zyte = reply.vendor == Some(Vendor::Zyte) || heard && marks::is_zytes(reply.headers);
        let delayed = zyte && reply.headers.contains_key(RETRY_AFTER);
        delayed.then(|| reply.first(&[services::ZYTE_DELAYED], b""))?
    })
}

/// What a vendor says in the body of a refused CONNECT.
const fn bodies(vendor: Option<Vendor>) -> &'static [Signal] {
    match vendor {
        Some(Vendor::AnyIp) => residential::ANY_IP,
        Some(Vendor::BrightData) => bright_data::BODIES,
        _ => &[],
    }
}

fn tinyproxy(headers: &HeaderMap) -> Option<Vendor> {
    let server = headers.get(SERVER)?.as_bytes();
    signal::like(b"tinyproxy*", server).then_some(Vendor::Tinyproxy)
}

const fn rows(vendor: Vendor) -> &'static [Signal] {
    match vendor {
        Vendor::AnyIp => residential::ANY_IP,
        Vendor::Apify => services::APIFY,
        Vendor::BrightData => bright_data::ROWS,
        Vendor::DataImpulse => residential::DATA_IMPULSE,
        Vendor::Decodo => residential::DECODO,
        Vendor::Geonode => residential::GEONODE,
        Vendor::IpRoyal => residential::IP_ROYAL,
        Vendor::NetNut => residential::NET_NUT,
        Vendor::Nimble => services::NIMBLE,
        Vendor::NodeMaven => residential::NODE_MAVEN,
        Vendor::OxylabsDatacenter => oxylabs::DATACENTER,
        Vendor::OxylabsShared => oxylabs::SHARED,
        Vendor::ProxiesFo => residential::PROXIES_FO,
        Vendor::ScraperApi => services::SCRAPER_API,
        Vendor::ThreeProxy => programs::THREE_PROXY,
        Vendor::Tinyproxy => programs::TINYPROXY,
        // Their headers say all.
        Vendor::Bytio | Vendor::Helodata | Vendor::LuminatiManager | Vendor::Oxylabs | Vendor::Soax => &[],
        Vendor::Squid | Vendor::Thordata | Vendor::Tor | Vendor::Webshare | Vendor::Zyte => &[],
    }
}

/// What a status means from whoever it comes.
fn of_anybody(reply: &Reply<'_>) -> Option<Word> {
    let status = reply.status.as_u16();
    if status == 407 && reply.on != On::TUNNEL {
        // Without a challenge it asks for no other login: some providers say so that they have no room.
        let asked = reply.headers.contains_key(PROXY_AUTHENTICATE);
        let reason = if asked { AuthReason::Rejected } else { AuthReason::Capacity };
        return Some(Word::of(Says::Login(reason)));
    }
    if reply.on != On::CONNECT {
        return None;
    }
    Some(Word::of(match status {
        // Some proxies refuse a login with the origin's status; a tunnel that is not there has no origin behind it.
        401 => Says::Login(AuthReason::Rejected),
        402 => Says::Login(AuthReason::Quota),
        403 | 451 => Says::Denied,
        429 => Says::Busy(GatewayScope::Credential),
        500 | 503 | 509 => Says::Busy(GatewayScope::Gateway),
        502 | 504 => Says::Unreachable,
        // The exit was too slow, whoever it is.
        408 => Says::Exit,
        // A provider's gateway speaks of the request. On an address of a list it may be a web server that poses as a proxy,
        // whose 404 says nothing of the request.
        400..500 if reply.vendor.is_some_and(is_provider) => Says::Fatal,
        _ => Says::Exit,
    }))
}

/// Whether what a vendor sells may end TLS itself, so that it speaks inside of the tunnel.
const fn ends_tls(vendor: Vendor) -> bool {
    matches!(vendor, Vendor::BrightData | Vendor::ScraperApi | Vendor::Zyte)
}

/// Whether it is a company's gateway, and no program that anybody may run.
const fn is_provider(vendor: Vendor) -> bool {
    use Vendor::{LuminatiManager, Squid, ThreeProxy, Tinyproxy, Tor};
    !matches!(vendor, LuminatiManager | Squid | ThreeProxy | Tinyproxy | Tor)
}

impl Reply<'_> {
    fn first(&self, rows: &[Signal], text: &[u8]) -> Option<Word> {
        rows.iter().find(|row| row.fits(self.on, self.status.as_u16(), text)).map(Signal::word)
    }
}

/// What an answer, or the reply to the CONNECT before it, reveals of the exit. Inside of a tunnel the answer is asked only if
/// its vendor ends TLS itself.
pub(super) fn egress(
    vendor: Option<Vendor>,
    headers: &HeaderMap,
    over: Option<&Connection>,
    tunnelled: bool,
) -> Option<Egress> {
    let speaks = !tunnelled || vendor.is_some_and(ends_tls);
    let own = if speaks { Egress::from_headers(headers) } else { None };
    own.or_else(|| over.and_then(Connection::egress).cloned())
}

/// The reason phrase, as a client has put it beside an answer.
pub(super) fn phrase(extensions: &Extensions) -> Option<&ReasonPhrase> {
    extensions.get()
}
