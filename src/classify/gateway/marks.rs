//! Headers by which a gateway says that an answer is its own.

use super::signal::{On, Signal, Word};
use super::{Reply, bright_data, oxylabs, programs, proxy_status, residential, services};
use crate::exit::Vendor;
use http::HeaderMap;

struct Mark {
    header: &'static str,
    vendor: Vendor,
    rows: &'static [Signal],
}

const fn mark(header: &'static str, vendor: Vendor, rows: &'static [Signal]) -> Mark {
    Mark { header, vendor, rows }
}

/// Codes before texts. Whoever adds a header sees to it that [`may_be`] lets it through.
const MARKS: &[Mark] = &[
    mark("x-brd-err-code", Vendor::BrightData, bright_data::CODES),
    mark("x-brd-error-code", Vendor::BrightData, bright_data::CODES),
    mark("x-luminati-error-code", Vendor::BrightData, bright_data::CODES),
    mark("x-crawlera-error", Vendor::Zyte, services::ZYTE),
    mark("zyte-error", Vendor::Zyte, services::ZYTE),
    mark("x-soax-error", Vendor::Soax, residential::SOAX),
    mark("x-thor-error-code", Vendor::Thordata, residential::THORDATA),
    mark("x-webshare-reason", Vendor::Webshare, residential::WEBSHARE),
    mark("x-webshare-error-reason", Vendor::Webshare, residential::WEBSHARE),
    mark("x-webshare-error", Vendor::Webshare, residential::WEBSHARE),
    mark("x-helodata-error-code", Vendor::Helodata, residential::HELODATA),
    mark("bytio-error", Vendor::Bytio, residential::BYTIO),
    mark("x-lpm-error", Vendor::LuminatiManager, programs::LUMINATI_MANAGER),
    mark("x-squid-error", Vendor::Squid, programs::SQUID),
    mark("x-brd-error", Vendor::BrightData, bright_data::TEXTS),
    mark("x-luminati-error", Vendor::BrightData, bright_data::TEXTS),
    mark("x-error-description", Vendor::Oxylabs, oxylabs::DESCRIPTIONS),
];

/// What an answer says that is marked.
pub(super) fn word(reply: &Reply<'_>) -> Option<Word> {
    if !reply.headers.keys().any(|name| may_be(name.as_str())) {
        return None;
    }
    let mut marks = MARKS.iter().filter(|mark| is_heard(reply, mark.vendor));
    marks.find_map(|mark| first(reply, mark.header, mark.rows)).or_else(|| {
        // An error that a hop has got over comes with the status of a success.
        let failed = reply.on != On::TUNNEL && reply.status.as_u16() >= 400;
        failed.then(|| proxy_status::word(reply)).flatten()
    })
}

/// Whether a mark of this vendor may be a proxy's. No site sees the reply to a CONNECT, so whoever marks that is believed. A
/// plain answer of a vendor that is known has no business with the marks of another; a squid may stand before any of them, and
/// a proxy manager before Bright Data. Inside of a tunnel there is only the vendor that ends its TLS.
pub(super) fn is_heard(reply: &Reply<'_>, mark: Vendor) -> bool {
    let own = reply.vendor == Some(mark);
    match (reply.on, reply.vendor) {
        (On::CONNECT, _) | (On::PLAIN, None) => true,
        (On::PLAIN, Some(Vendor::LuminatiManager)) if mark == Vendor::BrightData => true,
        (On::PLAIN, Some(_)) => own || mark == Vendor::Squid,
        _ => own,
    }
}

fn first(reply: &Reply<'_>, header: &str, rows: &[Signal]) -> Option<Word> {
    let mut values = reply.headers.get_all(header).iter();
    values.find_map(|value| reply.first(rows, value.as_bytes()))
}

/// Whether a header may be one of ours: one look at each name, so that an answer that carries none costs no look-up.
fn may_be(name: &str) -> bool {
    let name = name.as_bytes();
    match name {
        [b'x', b'-', one, two, ..] => match one {
            b'b' | b'c' | b'e' => *two == b'r',
            b'h' | b'w' => *two == b'e',
            b'l' => matches!(two, b'p' | b'u'),
            b's' => matches!(two, b'o' | b'q'),
            b't' => *two == b'h',
            _ => false,
        },
        [b'z' | b'b', b'y', ..] => true,
        [b'p', ..] => name.starts_with(b"proxy-s"),
        _ => false,
    }
}

/// Whether the service has marked an answer as one that came through it.
pub(super) fn is_zytes(headers: &HeaderMap) -> bool {
    headers.contains_key("x-crawlera-version") || headers.contains_key("zyte-request-id")
}

#[cfg(test)]
mod tests {
    use super::{MARKS, may_be};
    use crate::classify::gateway::proxy_status::HEADER;

    #[test]
    fn every_mark_is_looked_at() {
        for name in MARKS.iter().map(|mark| mark.header).chain([HEADER]) {
            assert!(may_be(name), "{name}");
        }
        for name in ["content-type", "x-powered-by", "x-cache", "proxy-authenticate", "via", "x-", "x-b", ""]
        {
            assert!(!may_be(name), "{name}");
        }
    }
}
