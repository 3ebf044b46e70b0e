//! Plays all that is asked for, on all cores.

use crate::settings::Setting;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tower_egress::lab::sim::{Policy, Run, run};

/// One run to be played.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Task {
    pub(crate) setting: Setting,
    pub(crate) policy: Policy,
    pub(crate) seed: u64,
}

#[derive(Serialize)]
pub(crate) struct Played {
    #[serde(skip)]
    pub(crate) setting: Setting,
    #[serde(flatten)]
    pub(crate) run: Run,
    /// By this machine, with what else it did.
    pub(crate) decisions_per_second: f64,
}

/// What came out, by setting and policy; each in the order of seeds.
#[derive(Default)]
pub(crate) struct Results {
    runs: HashMap<(Setting, Policy), Vec<Played>>,
}

impl Results {
    pub(crate) fn of(&self, setting: &Setting, policy: Policy) -> &[Played] {
        self.runs.get(&(setting.clone(), policy)).map_or(&[], Vec::as_slice)
    }
}

/// Each of them with each of the others; what is asked for twice is played once.
pub(crate) fn tasks(wanted: &[(Vec<Setting>, Vec<Policy>)], seeds: &Range<u64>) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (settings, policies) in wanted {
        for setting in settings {
            for policy in policies.iter().copied() {
                if known.insert((setting.clone(), policy)) {
                    tasks.extend(seeds.clone().map(|seed| Task { setting: setting.clone(), policy, seed }));
                }
            }
        }
    }
    tasks
}

#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
fn play(task: &Task, keeps_series: bool) -> Played {
    let started = Instant::now();
    let mut run = run(&task.setting.scenario(), task.policy, task.seed);
    if !keeps_series {
        run.forget_series();
    }
    let decisions_per_second = run.decisions as f64 / started.elapsed().as_secs_f64().max(1e-9);
    Played { setting: task.setting.clone(), run, decisions_per_second }
}

/// Plays them all. What is by second is kept of one seed, the first: 30 would take gigabytes.
pub(crate) fn all(tasks: &[Task], first: u64) -> Results {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut played = Vec::new();
        while let Some((at, task)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            tasks.get(at).map(|task| (at, task))
        } {
            if at > 0 && at % 1_000 == 0 {
                eprintln!("{at} of {} runs", tasks.len());
            }
            played.push((at, play(task, task.seed == first)));
        }
        played
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut played: Vec<(usize, Played)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a run does not panic")).collect()
    });
    played.sort_by_key(|(at, _)| *at);
    let mut results = Results::default();
    for (at, played) in played {
        results.runs.entry((played.setting.clone(), tasks[at].policy)).or_default().push(played);
    }
    results
}
