//! What a policy said of a site's blocks, to be held against what the world knows.

use crate::fleet::Cause;

/// How often a policy said what the blocks of the first site depend on, looked at every ten seconds of a run; all zero of who
/// says no such thing.
///
/// ```
/// use tower_egress::lab::sim::{Policy, Scenario, run};
///
/// let poisoned = Scenario::named("P").expect("a quarter of the jobs is refused through all exits").jobs(5_000);
/// let verdicts = run(&poisoned, Policy::Ours, 1).verdicts;
/// assert!(verdicts.request > 0);
/// assert_eq!((verdicts.subnet, verdicts.pool, verdicts.pattern), (0, 0, 0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Verdicts {
    /// The request.
    pub request: u64,
    /// The subnet of the exit.
    pub subnet: u64,
    /// The exit.
    pub pool: u64,
    /// None of them: the pattern of the requests.
    pub pattern: u64,
    /// Nothing, or nothing yet.
    pub unclear: u64,
}

impl Verdicts {
    /// How often it was looked at.
    #[must_use]
    pub const fn looks(&self) -> u64 {
        self.request + self.subnet + self.pool + self.pattern + self.unclear
    }

    pub(super) fn count(&mut self, cause: Option<Cause>) {
        let Some(cause) = cause else { return };
        *match cause {
            Cause::Request => &mut self.request,
            Cause::Subnet => &mut self.subnet,
            Cause::Pool => &mut self.pool,
            Cause::Pattern => &mut self.pattern,
            Cause::Unclear => &mut self.unclear,
        } += 1;
    }
}

impl std::ops::Add for Verdicts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            request: self.request + other.request,
            subnet: self.subnet + other.subnet,
            pool: self.pool + other.pool,
            pattern: self.pattern + other.pattern,
            unclear: self.unclear + other.unclear,
        }
    }
}
