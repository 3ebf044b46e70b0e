//! What a proxy, or the provider behind it, says in its own name: no site's word.
//!
//! | where | what says it | outcome | what happens |
//! |---|---|---|---|
//! | reply to a CONNECT, answer to a plain request | a vendor's header with a code, whatever the status: `x-brd-err-code`, `x-error-description`, `x-squid-error` and 14 others | by the vendor's table | |
//! | the same | `Proxy-Status` with an error (RFC 9209), on a refusal | by the RFC's table; a code at the start of the details goes first | |
//! | reply to a CONNECT | the reason phrase, of a vendor that is known | by the vendor's table | |
//! | the same | the status, of a vendor that is known | by the vendor's table | |
//! | answer to a plain request | 407, or a status that only this vendor has (466, 452 to 455, 490, 590 to 599) | by the vendor's table | |
//! | answer inside of a tunnel | the same header or status, of a vendor that ends TLS itself (Zyte, ScraperAPI, Bright Data) | by the vendor's table | |
//! | reply to a CONNECT | 401, 407 with a challenge | auth error: rejected | the login is doubted, a second refusal stops it |
//! | the same, plain too | 407 without a challenge | auth error: capacity | a short rest |
//! | the same | 402 | auth error: quota | the login stops |
//! | the same | 403, 451 | target denied | one try elsewhere, nobody is charged |
//! | the same | 429 | gateway overloaded: the credential | what the account does rests |
//! | the same | 500, 503, 509 | gateway overloaded | the gateway rests |
//! | the same | 502, 504 | target unreachable | one try through another exit |
//! | the same | another 4xx, of a provider that is known | fatal | the request ends |
//! | the same | anything else | proxy error | another exit |
//!
//! The first that fits holds, from the top to the bottom. What only a status says in answer to a plain request is left to the
//! [table of statuses](super): a site may have sent it. Over plain `http://` a site may also send a vendor's header; inside of
//! a tunnel none is believed, except of a vendor that is known to end TLS itself.
//!
//! **To add a provider**: a variant of [`Vendor`]; a table in the file of its group, whose rows say what the provider
//! documents; a line in `MARKS` if it has a header of its own, else one in `rows`; and its signals in `tests/gateway.tsv`.

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
use crate::outcome::{AuthReason, Connection, Egress, GatewayScope, ReasonPhrase};
use http::header::{PROXY_AUTHENTICATE, RETRY_AFTER, SERVER};
use http::{Extensions, HeaderMap, StatusCode};
use signal::{Says, Signal};

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
    let inside = reply.on == On::TUNNEL;
    if inside && !reply.vendor.is_some_and(ends_tls) {
        return None;
    }
    if let Some(word) = marks::word(reply) {
        return Some(word);
    }
    if !inside && reply.status.as_u16() < 400 {
        return None;
    }
    of_vendor(reply).or_else(|| of_anybody(reply))
}

/// What a vendor says by phrase, body and status.
fn of_vendor(reply: &Reply<'_>) -> Option<Word> {
    let vendor = reply.vendor.or_else(|| tinyproxy(reply.headers));
    let rows = vendor.map_or(&[][..], rows);
    let phrase = reply.phrase.map_or(&[][..], ReasonPhrase::as_bytes);
    reply.first(rows, phrase).or_else(|| reply.first(bodies(reply.vendor), reply.body)).or_else(|| {
        let zyte =
            reply.vendor == Some(Vendor::Zyte) || reply.on != On::TUNNEL && marks::is_zytes(reply.headers);
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
