//! The signals, row by row of `signals.txt`.

use crate::classify::pages::Page;
use crate::classify::status::{Carried, Here, head, with_page};
use crate::outcome::{Evidence, Outcome};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::SystemTime;

const HERE: Here<'_> = Here { site: None, pages: true };
const TUNNEL: Carried<'_> = Carried { tunnelled: true, kept: true, vendor: None, phrase: None };

/// What an answer shows, its page searched if it may be.
fn shown(status: StatusCode, headers: &HeaderMap, text: &str, whole: bool) -> Evidence {
    let told = head(status, headers, TUNNEL, HERE, SystemTime::UNIX_EPOCH);
    match told.reach.wait(status, headers) {
        Some(_) => with_page(told, status, headers, Page { text: text.as_bytes(), whole }),
        None => told.evidence,
    }
}

/// As `signals.txt` writes it.
fn answer(line: &str) -> (StatusCode, HeaderMap, &str) {
    let (front, page) = line.split_once(" << ").map_or((line, None), |(front, page)| (front, Some(page)));
    let (status, fields) = front.split_once("; ").unwrap_or((front, ""));
    let mut headers = HeaderMap::new();
    for field in fields.split("; ").filter(|field| !field.is_empty()) {
        match field.split_once(": ") {
            Some((name, value)) => {
                headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            // The rest of a media type.
            None => {
                let whole = format!("{}; {field}", headers[CONTENT_TYPE].to_str().unwrap());
                headers.insert(CONTENT_TYPE, HeaderValue::from_str(&whole).unwrap());
            }
        }
    }
    if let Some(page) = page {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/html; charset=utf-8"));
        headers.entry(CONTENT_LENGTH).or_insert(page.len().into());
    }
    (status.parse().unwrap(), headers, page.unwrap_or_default())
}

fn name(evidence: Evidence) -> String {
    let hint = evidence.retry_after.map(|hint| format!(" {}", hint.wait().as_secs())).unwrap_or_default();
    match evidence.outcome {
        Outcome::Blocked { by } => format!("blocked {by:?}").to_lowercase(),
        outcome @ Outcome::RateLimited { .. } => format!("{}{hint}", outcome.name()),
        outcome => outcome.name().to_owned(),
    }
}

#[test]
fn each_signal_is_taken_for_what_is_listed_or_the_reason_is_written() {
    let mut rows = 0;
    for row in include_str!("signals.txt").split("\n== ").skip(1) {
        let (title, rest) = row.split_once('\n').unwrap();
        let [vendor, listed, by, source] = title.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{title}");
        };
        assert!(!source.is_empty());
        let why = rest.lines().any(|line| line.starts_with("why: "));
        let (mut answers, mut others) = (0, 0);
        for line in rest.lines().filter(|line| !line.is_empty() && !line.starts_with("why: ")) {
            let (kind, line) = line.split_once(": ").unwrap();
            let (given, expected) = line.trim_start().rsplit_once(" => ").unwrap();
            let (status, headers, page) = answer(given);
            let got = name(shown(status, &headers, page, true));
            assert_eq!(got, expected, "{vendor}: {given}");
            let same = match listed {
                "ok" => ["ok", "origin_error"].contains(&&*got),
                "blocked" => got == format!("blocked {by}"),
                listed => got.split(' ').next() == Some(listed),
            };
            match kind {
                "answer" => (answers, others) = (answers + 1, others + u32::from(!same)),
                "trap" => assert!(!same, "{vendor}: {given} is listed"),
                _ => panic!("{kind}"),
            }
        }
        assert!(answers > 0 || why, "{vendor}");
        assert_eq!(others > 0 || answers == 0, why, "{vendor}: others than listed have a reason");
        rows += 1;
    }
    assert_eq!(rows, 48);
}

/// Every mark of the table is in an answer of the file, or the file says nothing of it.
#[test]
fn every_mark_makes_its_own_row_fit_somewhere() {
    for (at, row) in super::marks::PAGES.iter().enumerate() {
        for mark in row.marks {
            let number = if super::marks::AKAMAI.contains(mark) { "18.2d.15.a" } else { "" };
            let page = format!("<p>{mark}{number}</p>{}", row.also.first().unwrap_or(&""));
            let fits = row.on.iter().any(|(status, _)| {
                let mut headers = HeaderMap::new();
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
                ["cloudflare", "AkamaiGHost"].iter().any(|server| {
                    headers.insert("server", HeaderValue::from_static(server));
                    let status = StatusCode::from_u16(*status).unwrap();
                    let page = Page { text: page.as_bytes(), whole: true };
                    super::by_page(status, &headers, page, None) == Some(row.says.outcome(status, None))
                })
            });
            assert!(fits, "row {at}, {}: {mark}", row.vendor);
        }
    }
}

#[test]
fn below_400_a_mark_needs_a_small_page_that_is_there_as_a_whole() {
    let check = |bytes: usize, whole, status, expected| {
        let page = format!("{:bytes$}", "<title>Robot Check</title>");
        let (status, mut headers, _) = answer(&format!("{status} << x"));
        headers.remove(CONTENT_LENGTH);
        let blocked = matches!(shown(status, &headers, &page, whole).outcome, Outcome::Blocked { .. });
        assert_eq!(blocked, expected, "{status}: {bytes} bytes, whole: {whole}");
    };
    check(200, true, 200, true);
    check(10 << 10, true, 200, true);
    check((10 << 10) + 1, true, 200, false);
    check(200, false, 200, false);
    check(16 << 10, false, 503, true);
}

#[test]
fn only_what_may_be_a_walls_page_is_waited_for() {
    let wait = |line: &str| {
        let (status, headers, _) = answer(line);
        let told = head(status, &headers, TUNNEL, HERE, SystemTime::UNIX_EPOCH);
        told.reach.wait(status, &headers).map(|wait| wait.as_millis())
    };
    for (line, expected) in [
        ("200; content-type: text/html; content-length: 9000", Some(100)),
        ("200; content-type: text/html; content-length: 10241", None),
        ("200; content-type: Text/HTML ;charset=x; content-length: x", None),
        ("200; content-type: text/html", Some(10)),
        ("200; content-type: application/json", None),
        ("200; content-type: text/plain", None),
        ("200", None),
        ("204", None),
        ("206; content-type: text/html; content-length: 9", None),
        ("302; content-type: text/html; content-length: 9", None),
        ("403; content-type: text/html; content-length: 900000", Some(100)),
        ("403; content-type: application/xhtml+xml", Some(100)),
        ("403; content-type: application/pdf", None),
        ("403; content-type: application/json", None),
        ("403; content-type: application/json; x-datadome: 1", Some(100)),
        ("403; content-type: text/plain", None),
        ("403; content-type: text/plain; server: cloudflare", Some(100)),
        ("403", None),
        ("404; content-type: text/html", None),
        ("410; content-type: text/html", None),
        ("407; content-type: text/html", None),
        ("500; content-type: text/html", Some(100)),
        ("429; content-type: text/html; x-kpsdk-ct: 1", None),
    ] {
        assert_eq!(wait(line), expected, "{line}");
    }
}

proptest::proptest! {
    /// Pages are made by strangers.
    #[test]
    fn no_page_makes_the_search_panic_or_outgrow_its_cap(
        status in 100..1_000_u16,
        parts in proptest::collection::vec(("[ -~]{0,9}|Reference #[0-9a-f.]{0,9}|&#46;|t=bv", 0..200_usize), 0..12),
        packing in "gzip|deflate|br|identity",
        kind in "text/html|text/plain|application/json|;",
        cut in 0..64_usize,
    ) {
        let marks: Vec<&str> = super::marks::PAGES.iter().flat_map(|row| row.marks).copied().collect();
        let mut page = Vec::new();
        for (text, mark) in &parts {
            page.extend_from_slice(text.as_bytes());
            page.extend_from_slice(marks.get(*mark).unwrap_or(&"").as_bytes());
        }
        page.truncate(page.len().saturating_sub(cut));
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(&kind).unwrap());
        shown(status, &headers, &String::from_utf8_lossy(&page), cut == 0);
        headers.insert("content-encoding", HeaderValue::from_str(&packing).unwrap());
        let unpacked = super::unpack(&headers, page[..].into());
        proptest::prop_assert!(unpacked.is_none_or(|(text, _)| text.len() <= super::MAX_BYTES));
    }
}
