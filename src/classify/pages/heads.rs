//! Signals in the head. Cookies and headers that a wall puts on every page (`__cf_bm`, `datadome`, `x-iinfo`, `x-vercel-id`)
//! are none.

use super::{Says, Statuses, covers};
use crate::outcome::BlockedBy::{Exit, Pattern, Unknown};
use Says::{Blocked, Fatal};
use http::{HeaderMap, HeaderValue};

/// A signal: one of these statuses, and a header.
pub(super) struct Head {
    /// Whose it is.
    pub(super) vendor: &'static str,
    on: Statuses,
    name: &'static str,
    value: Value,
    pub(super) says: Says,
}

/// What a header must say. Case does not matter.
enum Value {
    Any,
    /// Exactly one of these.
    Is(&'static [&'static str]),
    Begins(&'static str),
    Holds(&'static str),
}

const REFUSED: Statuses = &[(400, 999)];

/// The first row that fits counts. Who publishes what a row says: the vendors' own pages for `cf-mitigated`,
/// `x-amzn-waf-action` and `crawler-price`; for the others detectors whose source is public. Vercel's are unconfirmed.
pub(super) const HEADS: &[Head] = &[
    // 429 with it is a challenge and no limit.
    Head {
        vendor: "Cloudflare challenge",
        on: REFUSED,
        name: "cf-mitigated",
        value: Value::Is(&["challenge"]),
        says: Blocked(Unknown),
    },
    Head {
        vendor: "Cloudflare pay per crawl",
        on: &[(402, 402)],
        name: "crawler-price",
        value: Value::Any,
        says: Fatal,
    },
    // It wants a token that a script makes.
    Head {
        vendor: "AWS WAF challenge",
        on: &[(202, 202), (400, 999)],
        name: "x-amzn-waf-action",
        value: Value::Is(&["challenge"]),
        says: Blocked(Pattern),
    },
    Head {
        vendor: "AWS WAF captcha",
        on: REFUSED,
        name: "x-amzn-waf-action",
        value: Value::Is(&["captcha"]),
        says: Blocked(Unknown),
    },
    Head {
        vendor: "DataDome",
        on: &[(401, 401), (403, 403)],
        name: "x-datadome",
        value: Value::Any,
        says: Blocked(Unknown),
    },
    Head {
        vendor: "DataDome",
        on: &[(401, 401), (403, 403)],
        name: "x-dd-b",
        value: Value::Any,
        says: Blocked(Unknown),
    },
    Head {
        vendor: "DataDome",
        on: &[(401, 401), (403, 403)],
        name: "server",
        value: Value::Begins("datadome"),
        says: Blocked(Unknown),
    },
    Head {
        vendor: "HUMAN (PerimeterX)",
        on: REFUSED,
        name: "x-px-block",
        value: Value::Any,
        says: Blocked(Unknown),
    },
    // The first contact asks for a proof of work; no limit.
    Head {
        vendor: "Kasada",
        on: &[(429, 429)],
        name: "x-kpsdk-ct",
        value: Value::Any,
        says: Blocked(Pattern),
    },
    Head {
        vendor: "Kasada",
        on: &[(429, 429)],
        name: "x-kpsdk-cd",
        value: Value::Any,
        says: Blocked(Pattern),
    },
    Head {
        vendor: "F5 Distributed Cloud",
        on: &[(403, 403)],
        name: "inference",
        value: Value::Any,
        says: Blocked(Pattern),
    },
    Head {
        vendor: "Sucuri",
        on: &[(307, 307), (400, 999)],
        name: "x-sucuri-block",
        value: Value::Any,
        says: Blocked(Unknown),
    },
    Head {
        vendor: "Vercel",
        on: &[(403, 403), (429, 429)],
        name: "x-vercel-mitigated",
        value: Value::Is(&["challenge", "deny"]),
        says: Blocked(Unknown),
    },
    Head {
        vendor: "Vercel",
        on: &[(403, 403), (429, 429)],
        name: "x-vercel-challenge-token",
        value: Value::Any,
        says: Blocked(Unknown),
    },
    Head {
        vendor: "Google",
        on: &[(302, 302), (303, 303), (307, 307)],
        name: "location",
        value: Value::Holds("/sorry/index?"),
        says: Blocked(Exit),
    },
    Head {
        vendor: "Reblaze",
        on: &[(247, 247), (403, 403)],
        name: "server",
        value: Value::Begins("Reblaze Secure Web Gateway"),
        says: Blocked(Unknown),
    },
    Head {
        vendor: "Akamai sec-cpt",
        on: &[(428, 428)],
        name: "set-cookie",
        value: Value::Begins("sec_cpt="),
        says: Blocked(Unknown),
    },
];

/// A name's place in [`NAMES`]: by its length, its first byte and its last.
const fn place(name: &str) -> u8 {
    let name = name.as_bytes();
    let (first, last) = (name[0], name[name.len() - 1]);
    (name.len() as u8).wrapping_mul(31) ^ first.wrapping_mul(7) ^ last.wrapping_mul(13)
}

/// Where the names of the table have their places: most headers are passed over by this.
static NAMES: [bool; 256] = {
    let (mut names, mut at) = ([false; 256], 0);
    while at < HEADS.len() {
        names[place(HEADS[at].name) as usize] = true;
        at += 1;
    }
    names
};
const _: () = assert!(HEADS.len() <= 32, "a bit each");

impl Value {
    fn fits(&self, value: &HeaderValue) -> bool {
        let value = value.as_bytes().trim_ascii();
        let same = |one: &[u8], two: &str| one.eq_ignore_ascii_case(two.as_bytes());
        match self {
            Self::Any => true,
            Self::Is(known) => known.iter().any(|known| same(value, known)),
            Self::Begins(start) => value.get(..start.len()).is_some_and(|found| same(found, start)),
            Self::Holds(part) => value.windows(part.len()).any(|found| same(found, part)),
        }
    }
}

/// The first row that fits. One pass over the headers: a look-up for each row would cost more.
pub(super) fn find(status: u16, headers: &HeaderMap) -> Option<&'static Head> {
    if !matches!(status, 202 | 247 | 302 | 303 | 307 | 400..) {
        return None;
    }
    let mut fit = 0_u32;
    for (name, value) in headers {
        let name = name.as_str();
        if !NAMES[usize::from(place(name))] {
            continue;
        }
        for (at, row) in HEADS.iter().enumerate() {
            if row.name == name && covers(row.on, status) && row.value.fits(value) {
                fit |= 1 << at;
            }
        }
    }
    HEADS.get(fit.trailing_zeros() as usize)
}
