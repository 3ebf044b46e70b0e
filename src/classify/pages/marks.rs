//! Signals in the page.

use super::kind::{Kind, server_is};
use super::{Page, Says, Statuses};
use crate::outcome::BlockedBy::{Country, Exit, Pattern, Unknown};
use Says::{Blocked, Broken, RateLimited};
use http::HeaderMap;

/// A signal: one of these statuses, and a mark in the page. Below 400 a page must be small besides, and is HTML.
pub(super) struct Row {
    /// Whose page it is.
    pub(super) vendor: &'static str,
    pub(super) on: Statuses,
    /// One of these is in the page.
    pub(super) marks: &'static [&'static str],
    /// And one of these, if there are any.
    pub(super) also: &'static [&'static str],
    /// And none of these.
    pub(super) unless: &'static [&'static str],
    proof: Proof,
    pub(super) says: Says,
}

/// What else must hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// That it is HTML.
    Html,
    /// That it is small HTML, whatever the status.
    Small,
    /// That the server names itself so; a text may hold the mark, too.
    Server(&'static str),
    /// A JSON answer may hold the mark, too.
    OrJson,
}

impl Row {
    pub(super) fn fits(&self, kind: Kind, headers: &HeaderMap, page: Page<'_>) -> bool {
        match self.proof {
            Proof::Html => kind == Kind::Html,
            Proof::Small => kind == Kind::Html && page.is_small(),
            Proof::Server(name) => kind != Kind::Json && server_is(headers, name),
            Proof::OrJson => kind != Kind::Text,
        }
    }
}

const fn row(vendor: &'static str, on: Statuses, marks: &'static [&'static str], says: Says) -> Row {
    Row { vendor, on, marks, also: &[], unless: &[], proof: Proof::Html, says }
}

/// Cloudflare's error of a number: a line of text, or a page.
const fn cloudflare(marks: &'static [&'static str], says: Says) -> Row {
    Row { proof: Proof::Server("cloudflare"), ..row("Cloudflare", REFUSED, marks, says) }
}

const REFUSED: Statuses = &[(400, 999)];
/// The statuses with which walls refuse, where a mark needs no small page.
const WALLS: Statuses = &[(401, 401), (403, 403), (405, 405), (429, 429), (503, 503)];

pub(super) const AKAMAI: &[&str] = &["Reference #", "Reference&#32;&#35;"];
const CAPTCHAS: &[&str] =
    &["g-recaptcha", "h-captcha", "cf-turnstile", "geetest", "arkoselabs.com", "TencentCaptcha"];
/// What a login's page has, and a captcha's has not.
const LOGIN: &[&str] = &["type=\"password\"", "type='password'", "type=password"];

/// The first row that fits counts. Where the marks are published: Cloudflare's error reference and its notes on `Retry-After`
/// with 1xxx; the rules of wafw00f, of crawl4ai's detector and of HUMAN's own enforcer, and other public detectors.
pub(super) const PAGES: &[Row] = &[
    row(
        "Cloudflare challenge",
        &[(403, 403), (429, 429), (503, 503)],
        &["_cf_chl_opt", "<title>Just a moment", "challenge-form", "challenges.cloudflare.com/turnstile"],
        Blocked(Unknown),
    ),
    // With that script of it any page may come, an error of the site's own, too.
    Row {
        unless: &["scripts/jsd/"],
        ..row(
            "Cloudflare challenge",
            &[(403, 403), (429, 429), (503, 503)],
            &["/cdn-cgi/challenge-platform/"],
            Blocked(Unknown),
        )
    },
    // The address is on the site's list.
    cloudflare(
        &[
            "error code: 1006",
            "error code: 1007",
            "error code: 1008",
            "cf-error-code\">1006",
            "cf-error-code\">1007",
            "cf-error-code\">1008",
        ],
        Blocked(Exit),
    ),
    cloudflare(&["error code: 1009", "cf-error-code\">1009"], Blocked(Country)),
    // The browser's signature.
    cloudflare(&["error code: 1010", "cf-error-code\">1010"], Blocked(Pattern)),
    // The address is on a list of abusers.
    cloudflare(&["error code: 1012", "cf-error-code\">1012"], Blocked(Exit)),
    cloudflare(&["error code: 1015", "cf-error-code\">1015", "You are being rate limited"], RateLimited),
    cloudflare(
        &["error code: 1020", "cf-error-code\">1020", "Sorry, you have been blocked", "Attention Required"],
        Blocked(Unknown),
    ),
    cloudflare(&["error code: 1005", "cf-error-code\">1005"], Blocked(Unknown)),
    // The site's, or its zone's state.
    cloudflare(
        &[
            "error code: 1004",
            "error code: 1033",
            "error code: 1038",
            "error code: 1200",
            "error code: 1205",
            "cf-error-code\">1004",
            "cf-error-code\">1033",
            "cf-error-code\">1038",
            "cf-error-code\">1200",
            "cf-error-code\">1205",
        ],
        Broken,
    ),
    // `bv`: the address is banned, and no captcha will help it.
    Row {
        also: &["t=bv"],
        proof: Proof::OrJson,
        ..row("DataDome hard block", &[(401, 401), (403, 403)], &["captcha-delivery.com"], Blocked(Exit))
    },
    row("DataDome", &[(401, 401), (403, 403)], &["captcha-delivery.com"], Blocked(Unknown)),
    row(
        "HUMAN (PerimeterX) hard block",
        &[(403, 403)],
        &["perimeterx.com/whywasiblocked", "denied because we believe you are using automation tools"],
        Blocked(Pattern),
    ),
    row(
        "HUMAN (PerimeterX)",
        &[(403, 403), (429, 429)],
        &[
            "captcha.px-cdn.net",
            "window._pxAppId",
            "px-captcha",
            "Press & Hold",
            "\"jsClientSrc\"",
            "\"blockScript\"",
            "/captcha.js?a=c",
            "Access to this page has been denied",
        ],
        Blocked(Unknown),
    ),
    // Its servers front plain errors, too; the number tells.
    Row { also: &["errors.edgesuite.net"], ..row("Akamai denial", &[(403, 403)], AKAMAI, Blocked(Unknown)) },
    Row {
        proof: Proof::Server("AkamaiGHost"),
        ..row("Akamai denial", &[(403, 403)], AKAMAI, Blocked(Unknown))
    },
    row(
        "Akamai or Imperva interstitial",
        &[(200, 200), (403, 403), (429, 429)],
        &["bm-verify", "Pardon Our Interruption"],
        Blocked(Unknown),
    ),
    row("Akamai sec-cpt", &[(428, 428)], &["/_sec/cp_challenge/", "sec-cpt-if"], Blocked(Unknown)),
    row(
        "Imperva",
        &[(200, 200), (403, 403)],
        &["_Incapsula_Resource", "Incapsula incident ID", "Request unsuccessful"],
        Blocked(Unknown),
    ),
    row("AWS WAF", &[(403, 403), (405, 405)], &["awswaf"], Blocked(Unknown)),
    row(
        "CloudFront",
        &[(403, 403)],
        &["The request could not be satisfied", "Request blocked"],
        Blocked(Unknown),
    ),
    row(
        "Kasada",
        &[(403, 403), (429, 429)],
        &["KPSDK.scriptStart", "149e9513-01fa-4fb0-aad4-566afd725d1b"],
        Blocked(Pattern),
    ),
    row(
        "F5 BIG-IP ASM",
        &[(200, 200), (403, 403)],
        &["The requested URL was rejected. Please consult with your administrator", "Your support ID is"],
        Blocked(Pattern),
    ),
    row(
        "Sucuri",
        &[(403, 403)],
        &[
            "Sucuri WebSite Firewall",
            "Access Denied - Sucuri",
            "sucuri_firewall_block.css",
            "sucuri_cloudproxy_js",
        ],
        Blocked(Unknown),
    ),
    row("Fastly", &[(403, 403), (406, 406)], &["Fastly error"], Blocked(Unknown)),
    row("DDoS-Guard", &[(403, 403), (503, 503)], &["DDoS-GUARD", "#link-ddg"], Blocked(Unknown)),
    row("Reblaze", &[(247, 247), (403, 403)], &["current session has been terminated"], Blocked(Unknown)),
    row(
        "Distil",
        &[(200, 200), (405, 405), (416, 416), (456, 456)],
        &["distilCaptchaForm", "distil_r_captcha", "cdn.distilnetworks.com/images/anomaly"],
        Blocked(Unknown),
    ),
    row(
        "Anubis",
        &[(200, 200)],
        &["/.within.website/", "Making sure you're not a bot!", "Making sure you&#39;re not a bot!"],
        Blocked(Pattern),
    ),
    row("Vercel", &[(403, 403), (429, 429)], &["Vercel Security Checkpoint"], Blocked(Unknown)),
    row(
        "Google",
        &[(429, 429), (503, 503)],
        &["/sorry/index", "unusual traffic", "systems have detected"],
        Blocked(Exit),
    ),
    row("Google without JavaScript", &[(200, 200)], &["/httpservice/retry/enablejs"], Blocked(Pattern)),
    row(
        "Amazon robot check",
        &[(200, 200), (503, 503)],
        &[
            "api-services-support@amazon.com",
            "/errors/validateCaptcha",
            "opfcaptcha.amazon.com",
            "Robot Check",
            "Enter the characters you see below",
            "Click the button below to continue shopping",
        ],
        Blocked(Exit),
    ),
    row("Reddit and others", &[(403, 403)], &["blocked by network security"], Blocked(Exit)),
    row(
        "a site for some countries",
        &[(403, 403), (451, 451)],
        &[
            "not available in your country",
            "not available in your region",
            "not available in your location",
            "unavailable in your country",
            "unavailable in your region",
        ],
        Blocked(Country),
    ),
    row("a captcha", WALLS, CAPTCHAS, Blocked(Unknown)),
    Row {
        unless: LOGIN,
        proof: Proof::Small,
        ..row("a captcha", &[(200, 200), (400, 999)], CAPTCHAS, Blocked(Unknown))
    },
];
