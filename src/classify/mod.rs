//! Names the outcome of each attempt where the facts are, and reports it.
//!
//! [`ClassifyLayer`] goes directly around the client, inside the lease layer. It looks at the answer's head once, and at the
//! start of its page where that may say more; reports through the lease it finds in the request; and wraps the body: a body
//! that breaks, or stalls, amends the report; one that the caller drops blames nobody. It answers with a
//! [`Served`](crate::Served) in the response's extensions.
//!
//! Who has a word on an answer, the first one first: the proxy itself, where there is no tunnel (407, and what it signs); your
//! own [rules](rule); a [wall](#walls) that names itself in a header; what was said of the site
//! ([`Site::status`](crate::Site::status), [`Site::api`](crate::Site::api)); the status, as below; a wall's page.
//!
//! | answer | outcome |
//! |---|---|
//! | 2xx, 3xx, 404, 410 | ok |
//! | 429; 503 that says when to come back | rate limited |
//! | 403, 999; a wall's header or page | blocked |
//! | 5xx, 408 | origin error |
//! | 407 to a plain `http://` request: the proxy's own | auth error |
//! | 451 through a tunnel: the site's own | blocked, for the exit's country |
//! | 451 to a plain `http://` request: perhaps the provider's | target denied |
//! | other 4xx; 407 through a tunnel | fatal: the request's own fault |
//! | any 4xx of an [API](crate::Site::api) | ok; with a wait in it rate limited |
//! | no tunnel, refused with 401, 402, 407 | auth error |
//! | no tunnel, refused with 429, 500, 503, 509 | gateway overloaded |
//! | no tunnel, refused with 502, 504 | target unreachable |
//! | no tunnel, refused with 403, 451 | target denied |
//! | no tunnel, refused with another status | proxy error |
//! | no tunnel, refused by SOCKS: no method, login | auth error |
//! | no tunnel, refused by SOCKS with 2 | target denied |
//! | no tunnel, refused by SOCKS with 3, 4, 5, 8, or Tor's 0xf0, 0xf2, 0xf3, 0xf7 | target unreachable |
//! | no tunnel, refused by SOCKS with Tor's 0xf1, 0xf4, 0xf5, 0xf6 | target failed |
//! | no tunnel, refused by SOCKS with another code | proxy error |
//! | the origin's name or port cannot be had from an own address, or for `socks5://` | target unreachable |
//! | broken with proof that the origin saw nothing | proxy error |
//! | broken without proof; no head in time | interrupted |
//!
//! A tunnel (`https://`) shows who speaks: the proxy until it stands, the origin after that. A plain `http://` request is
//! answered by either, and but for 407 a status cannot tell which: a proxy's own 401 counts as fatal, its 403 as a block,
//! its 500 or 502 as the origin's error. What gateways say of their own answers, by headers, phrases and statuses that are
//! theirs alone, goes before this table: see [`gateway`].
//!
//! # Walls
//!
//! What is known of the walls in front of sites is data: headers, and marks in their pages. A header counts at once. A page is searched where its head leaves something open, and counts with two proofs: a mark and a refusal's
//! status, or, below 400, a mark and a whole page of HTML of at most 10 KiB. Pages of other types are none, a captcha beside a
//! password's field is a form, and cookies and headers that walls put on every page (`__cf_bm`, `datadome`, `x-iinfo`,
//! `_abck`) say nothing.
//!
//! | signal | outcome | what happens |
//! |---|---|---|
//! | `cf-mitigated: challenge`, also with 429 and 503; Cloudflare's challenge or 1020 page | blocked | as a 403: another exit at once, the pair rests 10 s and doubles |
//! | `error code: 1006`, `1007`, `1008`, `1012` | blocked, by exit | the same; other exits help |
//! | `error code: 1009`; 451; "not available in your country" with a 403 | blocked, by country | the same; ask for another country |
//! | `error code: 1010`; `x-amzn-waf-action: challenge`; `x-kpsdk-*` with 429; F5's support id; Anubis | blocked, by pattern | is returned: no exit helps, it is the client that is refused; the pair rests 1 s, nothing is burned |
//! | `x-amzn-waf-action: captcha`; `x-px-block`; `x-sucuri-block`; `x-vercel-mitigated`; `x-datadome` or `x-dd-b` with 401, 403; their pages | blocked | as a 403 |
//! | DataDome's page with `t=bv`; a way to `/sorry/index`; Amazon's robot check, with a 200 too; "blocked by network security" | blocked, by exit | as a 403; other exits help |
//! | Imperva's, Akamai's, Distil's pages, with a 200 too; a captcha on a refusal or a small page | blocked | as a 403 |
//! | 402 with `crawler-price` | fatal | is returned: the site wants to be paid |
//! | 429; `error code: 1015` | rate limited | rests as long as it says, else 1 s |
//! | 503 with `Retry-After` | rate limited | the same |
//! | 520 to 527, 530; `error code: 1004`, `1033`, `1038`, `1200`, `1205` | origin error | the same exit again, idempotent only; no exit is charged |
//!
//! A wait is read from `Retry-After`, else, with 429 and 503, from what is [left of a
//! limit](crate::outcome::RetryAfter::from_limits). A challenge with a 429 is a block, whatever wait it names.
//!
//! An answer is kept back for its page for 100 ms at most, from its head on, and for 10 ms where a 200 is HTML of unknown
//! length; streams, JSON, pictures, and pages that say that they are longer are not kept back. At most 16 KiB in 64 frames are
//! read ahead; they go up as they came. The search unpacks gzip and deflate for itself. For brotli
//! and zstd put a decompression layer below this one; else such a page is not searched, and its status counts. Whose wall it was is traced (`tower_egress`, debug). [`ClassifyLayer::pages`] turns all of this off.
//!
//! What a site means otherwise, a [`Rule`] says: it is asked before all this.
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
//!         let answer = http::Response::builder().status(429).header("retry-after", "3");
//!         Ok::<_, std::io::Error>(answer.body(Full::new(Bytes::from_static(b"slow down"))).expect("valid"))
//!     }));
//! let request = http::Request::get("https://shop.example/p/42").body(Full::default())?;
//! let response = client.oneshot(request).await?;
//! let served = response.extensions().get::<Served>().expect("on every response");
//! assert!(matches!(served.outcome(), Outcome::RateLimited { retry_after: Some(_) }));
//! # Ok(())
//! # }
//! ```

mod body;
mod cap;
mod collect;
mod failure;
mod future;
pub mod gateway;
mod judge;
mod layer;
mod pages;
mod peek;
mod plain;
pub mod rule;
mod service;
mod status;
#[cfg(test)]
mod tests;
mod watch;

pub use body::EgressBody;
pub use future::ClassifyFuture;
pub use layer::ClassifyLayer;
pub use plain::{head, page};
pub use rule::{Answer, Rule};
pub use service::Classify;
