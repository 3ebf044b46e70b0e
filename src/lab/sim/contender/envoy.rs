//! Envoy's outlier ejection and retry budget, with exits for hosts, and blocks for failures.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::HashMap;
use std::time::Duration;

const IN_A_ROW: u32 = 5;
const BASE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
const SWEEP: Duration = Duration::from_secs(10);

/// Round robin over the hosts that are not ejected, but those that the request has used; over all of them where more than half
/// are ejected. Five failures in a row eject, for 30 s times the number of ejections, which falls by one for each healthy 10 s.
/// At most max(a fifth of the attempts under way, 3) are retries, after U(0, 25 ms) doubled to 250 ms.
///
/// Its default of one retry is raised to three.
pub(in crate::lab::sim) struct Envoy {
    hosts: Vec<Host>,
    ejected: usize,
    /// Most of them that are ejected at once, in percent.
    cap: usize,
    next: u32,
    swept: Time,
    jobs: HashMap<u32, Request>,
    active: usize,
    retrying: usize,
}

#[derive(Clone, Copy, Default)]
struct Host {
    failures: u32,
    ejections: u32,
    out_since: Option<Time>,
}

#[derive(Default)]
struct Request {
    used: Vec<u32>,
    sent: bool,
    retries: bool,
}

impl Envoy {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, cap: usize) -> Looped<Self> {
        let envoy = Self {
            hosts: vec![Host::default(); scenario.exits as usize],
            ejected: 0,
            cap,
            next: 0,
            swept: Time::ZERO,
            jobs: HashMap::new(),
            active: 0,
            retrying: 0,
        };
        Looped::new(envoy, scenario, luck, 4)
    }

    fn sweep(&mut self, now: Time) {
        while now.since(self.swept) >= SWEEP {
            self.swept = self.swept + SWEEP;
            for host in &mut self.hosts {
                match host.out_since {
                    None => host.ejections = host.ejections.saturating_sub(1),
                    Some(since) if self.swept.since(since) >= (BASE * host.ejections).min(LONGEST) => {
                        (host.out_since, host.failures) = (None, 0);
                        self.ejected -= 1;
                    }
                    Some(_) => {}
                }
            }
        }
    }

    fn judge(&mut self, now: Time, at: u32, failed: bool) {
        let share = self.ejected * 100 / self.hosts.len();
        let host = &mut self.hosts[at as usize];
        host.failures = if failed { host.failures + 1 } else { 0 };
        if host.failures < IN_A_ROW || host.out_since.is_some() {
            return;
        }
        host.failures = 0;
        // One may always be.
        if share < self.cap || self.ejected == 0 {
            (host.out_since, host.ejections) = (Some(now), host.ejections + 1);
            self.ejected += 1;
        }
    }

    /// The next that will do, of those that may, else the next.
    fn host(&mut self, used: &[u32]) -> u32 {
        let count = self.hosts.len() as u32;
        let panic = self.ejected * 2 > self.hosts.len();
        let turn = |step: u32| (self.next + step) % count;
        let healthy = |at: &u32| panic || self.hosts[*at as usize].out_since.is_none();
        let fresh = (0..count).map(turn).filter(healthy).find(|at| !used.contains(at));
        let host = fresh.or_else(|| (0..count).map(turn).find(healthy)).unwrap_or(self.next);
        self.next = (host + 1) % count;
        host
    }
}

impl Rules for Envoy {
    fn pick(&mut self, now: Time, job: &Job, _: &Tries) -> Pick {
        self.sweep(now);
        let mut request = self.jobs.remove(&job.id).unwrap_or_default();
        let host = self.host(&request.used);
        request.used.push(host);
        request.sent = true;
        self.active += 1;
        self.jobs.insert(job.id, request);
        Pick::Exit(host)
    }

    fn after(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step {
        self.sweep(now);
        let failed = !evidence.outcome.is_ok();
        self.judge(now, exit, failed);
        let most = (self.active / 5).max(3);
        let Some(request) = self.jobs.get_mut(&job.id) else { return Step::Stop(Why::Fatal) };
        self.active -= usize::from(std::mem::take(&mut request.sent));
        self.retrying -= usize::from(std::mem::take(&mut request.retries));
        if !failed {
            return Step::Done;
        }
        let sent = tries.sent(job);
        if sent >= tries.sends || self.retrying >= most {
            return Step::Stop(Why::Exhausted);
        }
        request.retries = true;
        self.retrying += 1;
        let longest = Duration::from_millis(25).saturating_mul(1 << (sent - 1).min(8));
        Step::Again(longest.min(Duration::from_millis(250)).mul_f64(tries.unit(Use::Jitter, job)))
    }

    fn over(&mut self, job: &Job) {
        let request = self.jobs.remove(&job.id).unwrap_or_default();
        self.active -= usize::from(request.sent);
        self.retrying -= usize::from(request.retries);
    }
}
