//! Pictures of single runs, those of the first seed.

use crate::picture::{Line, Picture, Points, Scale};
use crate::play::Results;
use crate::settings::{self, Setting};
use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tower_egress::lab::sim::{Policy, Run, Scenario};

/// What a picture shows: its file's name, its title, its axes, the scale of its ordinate, and its points.
struct Kind(&'static str, &'static str, (&'static str, &'static str), Scale, fn(&Run) -> Points);

const SUCCESS: Kind =
    Kind("success", "jobs served over time", ("seconds", "share of jobs"), Scale::Linear, |run| {
        let mut sum = 0.0;
        let jobs = run.jobs.max(1) as f64;
        let mut points: Points = vec![(0.0, 0.0)];
        points.extend(by_second(&run.served_at).map(|(at, served)| {
            sum += served / jobs;
            (at + 1.0, sum)
        }));
        points
    });
const BLOCK: Kind = Kind(
    "block",
    "attempts at the site around the block of many exits at once",
    ("seconds", "attempts per second"),
    Scale::Linear,
    |run| by_second(&run.attempts_at).collect(),
);
const BURNED: Kind =
    Kind("bans", "exits burned: bans so far", ("seconds", "bans"), Scale::From(1.0), |run| {
        run.bans_at.iter().enumerate().map(|(at, bans)| (at as f64, *bans as f64)).collect()
    });
const WAITS: Kind = Kind(
    "waits",
    "what served jobs spent on no attempt, shortest first",
    ("hundredths of the served jobs", "seconds"),
    Scale::From(0.1),
    |run| (0..).zip(&run.waits).map(|(at, wait)| (f64::from(at), *wait)).collect(),
);

/// One line for each picture: of which world, at which size. Where that was not played, it is drawn at the size that was.
const PLOTS: &[(Kind, &str, u32)] = &[
    (SUCCESS, "T", 200),
    (SUCCESS, "T", 20),
    (SUCCESS, "S", 200),
    (SUCCESS, "G", 200),
    (SUCCESS, "U", 200),
    (SUCCESS, "Mix", 20),
    (BLOCK, "S", 200),
    (BURNED, "T", 200),
    (BURNED, "S", 200),
    (WAITS, "T", 200),
    (WAITS, "S", 200),
    (WAITS, "U", 200),
];

fn by_second(bins: &[u32]) -> impl Iterator<Item = (f64, f64)> + '_ {
    bins.iter().enumerate().map(|(at, count)| (at as f64, f64::from(*count)))
}

/// A picture with all of them would show none.
fn is_drawn(policy: Policy) -> bool {
    (Policy::ALL.contains(&policy) || policy == Policy::Oracle) && policy != Policy::NoRetry
}

/// A picture that was drawn: its file and what it shows.
pub(crate) struct Drawn {
    pub(crate) file: String,
    pub(crate) title: String,
}

/// Draws what was played.
pub(crate) fn all(
    results: &Results,
    settings: &[Setting],
    folder: &Path,
) -> Result<Vec<Drawn>, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut drawn: Vec<Drawn> = Vec::new();
    for (kind, world, exits) in PLOTS {
        let mut here: Vec<&Setting> = settings.iter().filter(|setting| setting.world == *world).collect();
        here.sort_by_key(|setting| setting.exits != *exits);
        let Some(setting) = here.first() else { continue };
        let lines = lines(kind, results, setting);
        if lines.iter().all(|line| line.points.is_empty()) {
            continue;
        }
        let Kind(name, what, axes, scale, _) = kind;
        let size = if setting.exits == 20 { "-20" } else { "" };
        let file = format!("{name}-{world}{size}.svg");
        if drawn.iter().any(|picture| picture.file == file) {
            continue;
        }
        let title = format!("{setting}: {what}");
        let trouble = if *name == "waits" { None } else { trouble(&setting.scenario()) };
        let across = across(kind, &lines, trouble.as_ref());
        Picture { title: &title, axes: *axes, scale: *scale, across, trouble, lines }
            .draw(&folder.join(&file))?;
        drawn.push(Drawn { file, title });
    }
    Ok(drawn)
}

fn lines(kind: &Kind, results: &Results, setting: &Setting) -> Vec<Line> {
    let line = |policy: Policy| {
        let run = &results.of(setting, policy).first()?.run;
        Some(Line { name: policy.name(), stands_out: policy == Policy::Ours, points: (kind.4)(run) })
    };
    settings::policies().filter(|policy| is_drawn(*policy)).filter_map(line).collect()
}

fn trouble(scenario: &Scenario) -> Option<Range<f64>> {
    scenario.trouble().map(|(from, to)| from.as_secs_f64()..to.as_secs_f64())
}

/// From where to where: around the trouble, or until ours was done four times over, if others took longer still.
fn across(kind: &Kind, lines: &[Line], trouble: Option<&Range<f64>>) -> Range<f64> {
    if let (&"block", Some(trouble)) = (&kind.0, trouble) {
        return trouble.start - 20.0..trouble.start + 60.0;
    }
    let end = |line: &Line| line.points.last().map_or(0.0, |last| last.0);
    let longest = lines.iter().map(end).fold(1.0, f64::max);
    if kind.0 == "waits" {
        return 0.0..longest;
    }
    let ours = lines.iter().find(|line| line.stands_out).map_or(longest, end);
    // With room for the last dot.
    0.0..(1.02 * longest).min(4.0 * ours.max(1.0))
}
