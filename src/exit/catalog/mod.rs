//! The catalogue: what is known of the gateways of providers. [`Gateway::provider`](super::Gateway::provider) makes a
//! gateway of a row; [`providers`] lists them.
//!
//! ```
//! use std::time::Duration;
//! use tower_egress::exit::{Gateway, catalog};
//!
//! let gateway = Gateway::provider("oxylabs")?
//!     .login("acme", "secret") // without what the template puts around it
//!     .country("us")
//!     .ttl(Duration::from_secs(1_800));
//! # assert!(tower_egress::Scheduler::builder().gateway(gateway).build().is_ok());
//!
//! for provider in catalog::providers() {
//!     println!("{provider}"); // name, company, product, template
//! }
//! assert!(Gateway::provider("oxylab").unwrap_err().to_string().contains("`oxylabs`"));
//! # Ok::<(), tower_egress::ConfigError>(())
//! ```
//!
//! A row is as good as its [source](Provider::source), and says by its [confidence](Provider::confidence) how good that is.
//! Where a row is wrong, or yours is not there, write the template yourself: [`Gateway`](super::Gateway) tells how.
//!
//! # Adding a provider
//!
//! 1. A row in `rows.rs`, with its source and confidence: `High` for the provider's own pages or what was measured more than
//!    once, `Medium` for code samples that agree or one page, `Low` for a single sample or hearsay. In brackets stands what
//!    may be left out; how long a session lives may be left out only if the provider's default is known, since leases are
//!    renewed by it. What is not known is left out of the row, never guessed.
//! 2. A line in `facts.tsv`, from the source and not from the row: the test compares the two. Where they must differ, an
//!    entry in `EXCEPTIONS` of `tests.rs` with the reason. A line in `renders.tsv`: the login as the provider's page shows it.
//! 3. If its refusals mean something of their own: a [`Vendor`](super::Vendor), its host in `vendor.rs`, and its signals in `classify`.

mod provider;
mod row;
mod rows;
#[cfg(test)]
mod tests;

pub(super) use provider::Token;
pub use provider::{Confidence, OnLoss, Provider};

/// All rows, by company.
pub fn providers() -> impl Iterator<Item = &'static Provider> {
    rows::ROWS.iter()
}

/// What a provider is called that had another name.
pub(super) fn now_called(name: &str) -> Option<&'static str> {
    let known = [
        ("smartproxy", "decodo"),
        ("luminati", "brightdata"),
        ("crawlera", "zyte-spm"),
        ("scrapinghub", "zyte-spm"),
    ];
    let (_, now) = known.into_iter().find(|(before, _)| name.eq_ignore_ascii_case(before))?;
    find(now).map(|row| row.name)
}

pub(super) fn find(name: &str) -> Option<&'static Provider> {
    providers().find(|row| row.name == name)
}
