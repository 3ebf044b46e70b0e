//! What ours said that blocks depend on, beside what they do depend on.

use crate::play::Results;
use crate::settings::Setting;
use std::fmt::Write as _;
use tower_egress::lab::sim::{Policy, Verdicts};

/// A row: a world, and what blocks its jobs.
const WORLDS: &[(&str, &str)] = &[
    ("P", "the request"),
    ("Mix", "the request, a fifth of the exits, the limit on each"),
    ("H", "a fifth of the exits"),
    ("S", "40 % of the exits, from 60 s on"),
    ("Sub", "the subnet, once three of its exits are banned"),
    ("U", "the pattern, from 60 to 240 s"),
    ("A", "the rate of all"),
    ("T", "the limit on each exit"),
    ("G", "a limit on all"),
    ("Noise", "nothing"),
];

/// A row for each setting that was played, of all its seeds; none of a world in which nothing was said or could be.
pub(crate) fn markdown(results: &Results, settings: &[Setting]) -> String {
    let mut text = String::from(
        "| world | exits | blocks depend on | looks | request | subnet | exit | pattern | nothing said |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (world, truth) in WORLDS {
        for setting in settings.iter().filter(|setting| setting.world == *world) {
            let all = sum(results, setting);
            let of = |count: u64| format!("{:.1} %", 100.0 * count as f64 / all.looks().max(1) as f64);
            let [request, subnet, pool] = [all.request, all.subnet, all.pool].map(of);
            let (exits, pattern, unclear) = (setting.exits, of(all.pattern), of(all.unclear));
            let looks = all.looks();
            let _ = writeln!(
                text,
                "| {world} | {exits} | {truth} | {looks} | {request} | {subnet} | {pool} | {pattern} | {unclear} |"
            );
        }
    }
    text
}

fn sum(results: &Results, setting: &Setting) -> Verdicts {
    let runs = results.of(setting, Policy::Ours).iter();
    runs.fold(Verdicts::default(), |sum, played| sum + played.run.verdicts)
}
