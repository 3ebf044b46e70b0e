//! How a picture is drawn: lines beside their legend.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

pub(crate) type Points = Vec<(f64, f64)>;

pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) stands_out: bool,
    pub(crate) points: Points,
}

/// How the ordinate grows.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    Linear,
    /// By tens from there on, and with a place for 0.
    From(f64),
}

pub(crate) struct Picture<'a> {
    pub(crate) title: &'a str,
    pub(crate) axes: (&'static str, &'static str),
    pub(crate) scale: Scale,
    pub(crate) across: Range<f64>,
    /// A bad time of the site.
    pub(crate) trouble: Option<Range<f64>>,
    pub(crate) lines: Vec<Line>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawing = Result<(), Box<dyn Error>>;

/// Of the legend, whose longest name is `scrapy-rotating-proxies`.
const LEGEND: u32 = 190;
const ROW: i32 = 20;

/// Eight that a colour-blind reader can tell apart; the next eight lines are dashed.
const COLOURS: &[RGBColor] = &[
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(110, 110, 110),
    RGBColor(130, 60, 20),
];

/// How the line of this number looks.
fn style(number: usize, line: &Line) -> ShapeStyle {
    COLOURS[number % COLOURS.len()].stroke_width(if line.stands_out { 3 } else { 1 })
}

const fn is_dashed(number: usize) -> bool {
    number >= COLOURS.len()
}

impl Scale {
    fn place(self, y: f64) -> f64 {
        match self {
            Self::Linear => y,
            Self::From(least) => (1.0 + y.max(0.0) / least).log10(),
        }
    }

    /// Where it has its marks.
    fn marks(self, most: f64) -> Vec<f64> {
        match self {
            Self::Linear => {
                let rough = (most / 6.0).max(1e-9);
                let ten = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * ten).into_iter().find(|step| *step >= rough);
                let step = step.unwrap_or(rough);
                (0..).map(|at| f64::from(at) * step).take_while(|mark| *mark <= most).collect()
            }
            Self::From(least) => {
                let tens = (0..).map(|power| least * 10_f64.powi(power)).take_while(|mark| *mark <= most);
                std::iter::once(0.0).chain(tens).collect()
            }
        }
    }
}

/// The ordinate: from 0 to the most that there is.
struct Up {
    scale: Scale,
    most: f64,
}

impl Ranged for Up {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (bottom, top): (i32, i32)) -> i32 {
        let share = self.scale.place(*value) / self.scale.place(self.most).max(1e-9);
        bottom + (share * f64::from(top - bottom)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.scale.marks(self.most)
    }

    fn range(&self) -> Range<f64> {
        0.0..self.most
    }
}

/// Marks are round; what is left of them by binary fractions is not told.
fn plain(value: f64) -> String {
    let rounded = (value * 1_000.0).round() / 1_000.0;
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

impl Picture<'_> {
    pub(crate) fn draw(&self, path: &Path) -> Drawing {
        let (width, height) = (940, 420);
        let area = SVGBackend::new(path, (width, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(width - LEGEND);
        self.chart(&left)?;
        self.legend(&right)?;
        area.present()?;
        Ok(())
    }

    fn most(&self) -> f64 {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let shown = points.filter(|point| self.across.contains(&point.0) || point.0 == self.across.end);
        shown.map(|point| point.1).fold(0.0, f64::max).max(1e-9)
    }

    fn chart(&self, area: &Area<'_>) -> Drawing {
        let up = Up { scale: self.scale, most: self.most() * 1.05 };
        let top = up.most;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 16))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(60)
            .build_cartesian_2d(self.across.clone(), up)?;
        if let Some(trouble) = &self.trouble {
            let within = |at: f64| at.clamp(self.across.start, self.across.end);
            let corners = [(within(trouble.start), 0.0), (within(trouble.end), top)];
            chart.draw_series([Rectangle::new(corners, BLACK.mix(0.07).filled())])?;
        }
        chart
            .configure_mesh()
            .x_desc(self.axes.0)
            .y_desc(self.axes.1)
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .bold_line_style(BLACK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .draw()?;
        // What stands out comes last, above the others.
        let mut order: Vec<(usize, &Line)> = self.lines.iter().enumerate().collect();
        order.sort_by_key(|(_, line)| line.stands_out);
        for (number, line) in order {
            let style = style(number, line);
            let shown: Points = self.shown(line).collect();
            let end = shown.last().copied().filter(|end| end.0 < self.across.end);
            if is_dashed(number) {
                chart.draw_series(DashedLineSeries::new(shown, 5, 4, style))?;
            } else {
                chart.draw_series(LineSeries::new(shown, style))?;
            }
            // Where it ends within the picture, somebody was done, or had given up.
            chart.draw_series(end.map(|end| Circle::new(end, 3, style.filled())))?;
        }
        Ok(())
    }

    fn legend(&self, area: &Area<'_>) -> Drawing {
        for ((number, line), y) in self.lines.iter().enumerate().zip((50..).step_by(ROW as usize)) {
            let style = style(number, line);
            let from = |x| vec![(x, y), (x + if is_dashed(number) { 7 } else { 20 }, y)];
            area.draw(&PathElement::new(from(0), style))?;
            if is_dashed(number) {
                area.draw(&PathElement::new(from(13), style))?;
            }
            area.draw(&Text::new(line.name, (28, y - 6), ("sans-serif", 13)))?;
        }
        if self.trouble.is_some() {
            let y = 50 + ROW * i32::try_from(self.lines.len())?;
            area.draw(&Rectangle::new([(0, y - 6), (20, y + 6)], BLACK.mix(0.07).filled()))?;
            area.draw(&Text::new("the site\u{2019}s bad time", (28, y - 6), ("sans-serif", 13)))?;
        }
        Ok(())
    }

    /// The points of a line that are in the picture, at most about 300 of them.
    fn shown<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = (f64, f64)> + 'a {
        let shown =
            line.points.iter().filter(|point| (self.across.start..=self.across.end).contains(&point.0));
        let count = shown.clone().count();
        let (step, last) = (count / 300 + 1, count.saturating_sub(1));
        shown.enumerate().filter(move |(at, _)| at % step == 0 || *at == last).map(|(_, point)| *point)
    }
}
