//! Who does the work: sans-io rules that say through which exit a job goes, and what it does next.

mod article_a;
mod article_b;
mod aws;
mod crawlee;
mod endless;
mod envoy;
mod looped;
mod naive;
mod oracle;
mod ours;
mod reqwest_retry;
mod reqwest_rotate;
mod scrapy;
mod stygian;
mod tower;

pub(super) use article_a::ArticleA;
pub(super) use article_b::ArticleB;
pub(super) use aws::Aws;
pub(super) use crawlee::{Crawlee, Version};
pub(super) use endless::Endless;
pub(super) use envoy::Envoy;
pub(super) use naive::Naive;
pub(super) use oracle::Oracle;
pub(super) use ours::{AGAIN, MOST_SENDS, Ours, Parts};
pub(super) use reqwest_retry::ReqwestRetry;
pub(super) use reqwest_rotate::ReqwestRotate;
pub(super) use scrapy::Scrapy;
pub(super) use stygian::Stygian;
pub(super) use tower::Tower;

use super::job::Job;
use super::world::World;
use crate::fleet::{Cause, Forecast};
use crate::outcome::Evidence;
use crate::request::Time;

/// What a job does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// It is sent through this exit.
    Send(u32),
    /// It waits until then, or until it is called; its worker with it.
    Wait(Time),
    /// It waits until then, its worker with it, and is asked for anew: by another timer than the one of a wait before.
    Anew(Time),
    /// It is put aside until then, and its worker takes another.
    Park(Time),
    Done,
    GiveUp(Why),
}

/// Why a job is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// Sent as often as the rules allow.
    Exhausted,
    /// Its time is over.
    Late,
    /// The site refuses the request itself.
    Request,
    /// Something that the rules do not cure.
    Fatal,
}

/// The rules of one design. The world is there for oracles; nobody else looks at it.
pub(super) trait Contender {
    /// A job is taken up, or taken up again after it was put aside.
    fn begin(&mut self, now: Time, job: &Job, world: &World) -> Next;

    /// The time of its wait has come, or it was called.
    fn resume(&mut self, now: Time, job: &Job, world: &World) -> Next;

    /// Its attempt has come to this.
    fn answered(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, world: &World) -> Next;

    /// When an attempt of the job is cut short, answered or not.
    fn deadline(&self, _job: u32) -> Time {
        Time::MAX
    }

    /// Who may look again now, in order; until there is nobody.
    fn called(&mut self) -> Option<u32> {
        None
    }

    /// A gateway's login has another password, and an operator says so.
    fn renewed(&mut self, _: Time, _gateway: usize) {}

    /// How often it has stopped a login.
    fn stops(&self) -> u64 {
        0
    }

    /// The pairs of origin and exit that it lets rest now, if it tells.
    fn resting(&self, _: Time) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// What it says that the blocks of the first site depend on, if it says such things.
    fn cause(&self, _: Time) -> Option<Cause> {
        None
    }

    /// Retries per second that its rules admit at so many successes per second, if they say.
    fn retries_a_second(&self, _: f64) -> Option<f64> {
        None
    }

    /// What it expects of the first site.
    fn forecast(&self, _: Time) -> Option<Forecast> {
        None
    }
}
