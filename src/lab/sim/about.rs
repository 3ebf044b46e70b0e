//! What each design does, in one line for a table.

use super::policy::Policy;

impl Policy {
    /// What it does, in one line, for who has not read of it. The others are their rules written again.
    #[must_use]
    pub fn about(self) -> String {
        let line = match self {
            Self::Ours => "this crate's fleet with its defaults",
            Self::OursArticle => "ours by the rules of the retry article (`RetryRules::article`)",
            Self::OursNegotiated => {
                "ours with one delay for everything, by what is known of exit and site (`RetryRules::negotiated`)"
            }
            Self::Without(part) => return format!("ours without one part, which is: {}", part.about()),
            Self::NoRetry => "reference: each job is sent once",
            Self::Naive => "a loop: another random exit at once, eight sends",
            Self::Naive4 => "naive with four sends",
            Self::NaiveUnlimited => "naive until the job's time is over",
            Self::Tower => {
                "tower 0.5: waits 50 ms, doubled each time, with a jitter that is the same for every request; eight sends within \
                 its default budget"
            }
            Self::TowerJitter => "tower with a jitter that is each request's own",
            Self::TowerNoBudget => "tower without a budget, in lockstep",
            Self::ReqwestRetry => {
                "reqwest-retry 0.9: waits a random part of 1 s, doubled each time; four sends; by status: a 403 is final, a block \
                 page with status 200 a success"
            }
            Self::ReqwestRetryCommon => "reqwest-retry, and all that is no success is tried again",
            Self::Crawlee3 => "Crawlee 3: a thousand identities that a block retires; three retries at once",
            Self::Crawlee3Rotations => {
                "Crawlee 3's later versions: beside the retries, ten rotations for blocks"
            }
            Self::Crawlee4 => {
                "Crawlee 4: crawlee3-rotations, and a 429 stops its site for everybody and counts as no retry"
            }
            Self::Scrapy => {
                "scrapy-rotating-proxies 0.6.2: one bad answer buries an exit for minutes at every site; five retries at once"
            }
            Self::Envoy10 => {
                "Envoy: five failures in a row eject an exit, a tenth of them at most; four sends within a retry budget"
            }
            Self::Envoy100 => "Envoy where all exits may be ejected",
            Self::Aws => {
                "AWS's SDKs, adaptive: three attempts from a bucket of tokens, and a sending rate that throttling lowers"
            }
            Self::AwsStandard => "AWS's SDKs, standard: without the sending rate",
            Self::ReqwestRotate => {
                "reqwest-rotate 0.1: round robin over the exits that answer; four sends; a 403 is the caller's"
            }
            Self::Stygian => "stygian-proxy 0.16: a breaker for each exit; six sends at once",
            Self::ArticleA => {
                "the scheduler article as written, a key for each page: each retry goes through the same exit"
            }
            Self::ArticleARepaired => {
                "article-a repaired: each retry through another exit, and a list of burned ones"
            }
            Self::ArticleAWindowed => {
                "the scheduler article as written, windows of 600 s for a thousand products: a burned one gets its exit again"
            }
            Self::ArticleAWindowedRepaired => "article-a-windowed repaired: a burned one gets another exit",
            Self::ArticleB => {
                "the retry article as written: a request that is blocked sleeps for five minutes"
            }
            Self::ArticleBRepaired => {
                "article-b repaired: the pair of exit and site rests instead, and heat is smoothed"
            }
            Self::Endless => "reference: each attempt through an address that nobody has used",
            Self::Oracle => {
                "reference: sees the world as it is, but not what will be, and sends nothing that is doomed"
            }
        };
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_design_has_a_line_of_its_own_that_fits_a_table() {
        let mut lines = HashSet::new();
        for policy in Policy::every().chain(Policy::REFERENCE.iter().copied()) {
            let line = policy.about();
            assert!(!line.is_empty() && !line.contains(['|', '\n']) && !line.contains("  "), "{line}");
            assert!(!line.ends_with('.') && lines.insert(line.clone()), "{line}");
        }
        let hold = Policy::named("ours-hold").expect("a design").about();
        assert_eq!(
            hold,
            "ours without one part, which is: an origin that fails everybody is left alone as a whole"
        );
    }
}
