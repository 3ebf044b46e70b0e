//! Pictures of single runs, those of the first seed.

use crate::play::Results;
use crate::settings::{self, Setting};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::error::Error;
use std::fs;
use std::path::Path;
use tower_egress::lab::sim::{Policy, Run, Scenario};

type Points = Vec<(f64, f64)>;

/// What a picture shows: its file's name, its title, its axes, whether its ordinate is logarithmic, and its points.
struct Kind(&'static str, &'static str, (&'static str, &'static str), bool, fn(&Run, &Scenario) -> Points);

const SUCCESS: Kind =
    Kind("success", "jobs served over time", ("seconds", "share of jobs"), false, |run, _| {
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
    "attempts at the origin around the block of many exits at once",
    ("seconds", "attempts per second"),
    false,
    |run, _| by_second(&run.attempts_at).skip(40).take(80).collect(),
);
const BURNED: Kind = Kind("bans", "exits burned: bans so far", ("seconds", "bans"), true, |run, _| {
    run.bans_at.iter().enumerate().map(|(at, bans)| (at as f64, *bans as f64)).collect()
});
const WAITS: Kind = Kind(
    "waits",
    "what jobs that were served spent on no attempt",
    ("hundredths of the jobs", "seconds"),
    true,
    |run, _| (0..).zip(&run.waits).map(|(at, wait)| (f64::from(at), *wait)).collect(),
);

/// One line for each picture.
const PLOTS: &[(Kind, &str)] = &[
    (SUCCESS, "T"),
    (SUCCESS, "S"),
    (SUCCESS, "G"),
    (SUCCESS, "U"),
    (BLOCK, "S"),
    (BURNED, "T"),
    (BURNED, "S"),
    (WAITS, "T"),
    (WAITS, "S"),
    (WAITS, "U"),
];

const COLOURS: &[RGBColor] = &[
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(110, 110, 110),
    RGBColor(160, 82, 45),
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

/// Draws what was played; at 200 exits, or at the size that was.
pub(crate) fn all(
    results: &Results,
    settings: &[Setting],
    folder: &Path,
) -> Result<Vec<Drawn>, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut drawn = Vec::new();
    for (kind, world) in PLOTS {
        let fits = |setting: &&Setting| setting.world == *world;
        let Some(setting) = settings.iter().find(fits) else { continue };
        let scenario = setting.scenario();
        let lines: Vec<(Policy, Points)> = settings::policies()
            .filter(|policy| is_drawn(*policy))
            .filter_map(|policy| {
                let run = &results.of(setting, policy).first()?.run;
                Some((policy, (kind.4)(run, &scenario)))
            })
            .collect();
        if lines.iter().all(|(_, points)| points.is_empty()) {
            continue;
        }
        let file = format!("{}-{world}.svg", kind.0);
        let title = format!("{setting}: {}", kind.1);
        draw(&folder.join(&file), &title, kind, &lines)?;
        drawn.push(Drawn { file, title });
    }
    Ok(drawn)
}

fn draw(path: &Path, title: &str, kind: &Kind, lines: &[(Policy, Points)]) -> Result<(), Box<dyn Error>> {
    let most =
        |of: fn(&(f64, f64)) -> f64| lines.iter().flat_map(|(_, points)| points).map(of).fold(0.0, f64::max);
    let least = lines.iter().flat_map(|(_, points)| points).map(|point| point.0).fold(f64::MAX, f64::min);
    let (width, height) = (most(|point| point.0), most(|point| point.1));
    let across = least..width.max(least + 1.0);
    if kind.3 {
        on(path, title, kind, lines, across, (0.1..height.max(1.0) * 1.1).log_scale(), |y| y.max(0.1))
    } else {
        on(path, title, kind, lines, across, 0.0..height.max(1e-9) * 1.05, |y| y)
    }
}

fn on<Y>(
    path: &Path,
    title: &str,
    kind: &Kind,
    lines: &[(Policy, Points)],
    across: std::ops::Range<f64>,
    up: Y,
    place: fn(f64) -> f64,
) -> Result<(), Box<dyn Error>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let Kind(_, _, (x, y), ..) = kind;
    let area = SVGBackend::new(path, (820, 400)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(38)
        .y_label_area_size(56)
        .build_cartesian_2d(across, up)?;
    chart.configure_mesh().x_desc(*x).y_desc(*y).light_line_style(WHITE.mix(0.0)).draw()?;
    for ((policy, points), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let style = colour.stroke_width(if *policy == Policy::Ours { 3 } else { 1 });
        let line = thinned(points).map(|(x, y)| (x, place(y)));
        chart
            .draw_series(LineSeries::new(line, style))?
            .label(policy.name())
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style));
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw()?;
    area.present()?;
    Ok(())
}

/// At most about 800 of them: a picture has no more columns.
fn thinned(points: &Points) -> impl Iterator<Item = (f64, f64)> + '_ {
    let step = points.len() / 800 + 1;
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(move |(at, _)| at % step == 0 || *at == last).map(|(_, point)| *point)
}
