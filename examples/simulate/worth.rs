//! What each part of ours is worth: where it earns most, where it costs most, and where it does nothing.

use crate::measure::{CHECKS, MEASURES, Measure, WORTH_TELLING, is_equal_work, median, values};
use crate::play::{Played, Results};
use crate::settings::Setting;
use std::fmt::Write as _;
use tower_egress::lab::sim::{Interval, Part, Policy, Scenario, paired};

/// What a part must change to be said to earn or to cost something.
pub(crate) const EARNED: f64 = 0.05;
/// So many worlds are told of each.
const TOLD: usize = 3;

/// What can be switched off.
struct Switch {
    name: String,
    about: String,
    policy: Option<Policy>,
}

/// One figure in one world, with the part and without it.
struct Effect {
    what: &'static str,
    digits: usize,
    medians: (f64, f64),
    /// What there is more without it.
    more: Interval,
    /// That, as a share.
    share: f64,
}

/// What a part does in one world.
struct Here {
    setting: Setting,
    effects: Vec<Effect>,
}

fn switches() -> Vec<Switch> {
    let part = |part: &Part| Switch {
        name: part.name().to_owned(),
        about: part.about(),
        policy: Some(Policy::Without(*part)),
    };
    let preset = |policy: Policy| Switch {
        name: "the default rules".to_owned(),
        about: format!("and not {}", policy.about()),
        policy: Some(policy),
    };
    let classes = Switch {
        name: "classes".to_owned(),
        about: "price checks have a share of their own (Prices for Alike)".to_owned(),
        policy: None,
    };
    let parts = Part::ALL.iter().map(part);
    parts.chain([classes]).chain([Policy::OursArticle, Policy::OursNegotiated].map(preset)).collect()
}

impl Effect {
    fn of(measure: &Measure, with: &[Played], without: &[Played]) -> Option<Self> {
        if measure.needs_equal_work && !is_equal_work(with, without) {
            return None;
        }
        let more = paired(&values(without, measure.of), &values(with, measure.of)).difference;
        let medians = (median(with, measure.of), median(without, measure.of));
        let smaller = medians.0.min(medians.1);
        let whole = measure.whole.map_or(smaller, |whole| median(with, whole));
        let share = if more.median == 0.0 { 0.0 } else { more.median / whole.abs().max(f64::MIN_POSITIVE) };
        Some(Self { what: measure.what, digits: measure.digits, medians, more, share })
    }

    fn is_gain(&self) -> bool {
        self.share >= EARNED && self.more.low > 0.0
    }

    fn is_cost(&self) -> bool {
        -self.share >= EARNED && self.more.high < 0.0
    }
}

impl Here {
    /// The most that a part earns here, or costs.
    fn most(&self, is_such: fn(&Effect) -> bool) -> Option<&Effect> {
        let such = self.effects.iter().filter(|effect| is_such(effect));
        such.max_by(|a, b| a.share.abs().total_cmp(&b.share.abs()))
    }

    fn is_nothing(&self) -> bool {
        self.effects.iter().all(|effect| effect.share.abs() <= WORTH_TELLING)
    }
}

impl Switch {
    /// Where it was played on and off.
    fn played(&self, results: &Results, settings: &[Setting]) -> Vec<Here> {
        let here = |setting: &Setting| {
            let (with, without) = self.runs(results, setting)?;
            let measures = MEASURES.iter().chain(if self.policy.is_none() { CHECKS } else { &[] });
            let effects = measures.filter_map(|measure| Effect::of(measure, with, without)).collect();
            Some(Here { setting: setting.clone(), effects })
        };
        settings.iter().filter_map(here).collect()
    }

    fn runs<'a>(&self, results: &'a Results, setting: &Setting) -> Option<(&'a [Played], &'a [Played])> {
        let with = results.of(setting, Policy::Ours);
        let without = match self.policy {
            Some(policy) => results.of(setting, policy),
            None if setting.world == Scenario::PRICES[0] => {
                results.of(&Setting::new(Scenario::PRICES[1], setting.exits), Policy::Ours)
            }
            None => &[],
        };
        (!with.is_empty() && !without.is_empty()).then_some((with, without))
    }
}

/// The worlds with the largest of such effects, with the figures of both.
fn told(played: &[Here], is_such: fn(&Effect) -> bool) -> String {
    let mut most: Vec<(&Setting, &Effect)> =
        played.iter().filter_map(|here| Some((&here.setting, here.most(is_such)?))).collect();
    most.sort_by(|a, b| b.1.share.abs().total_cmp(&a.1.share.abs()));
    let line = |(setting, effect): &(&Setting, &Effect)| {
        let (Setting { world, exits }, digits) = (setting, effect.digits);
        let (with, without) = effect.medians;
        format!("{world} at {exits}: {} {with:.digits$}, without {without:.digits$}", effect.what)
    };
    let lines: Vec<String> = most.iter().take(TOLD).map(line).collect();
    if lines.is_empty() { "**nothing**".to_owned() } else { lines.join("<br>") }
}

/// A row for each part.
pub(crate) fn markdown(results: &Results, settings: &[Setting]) -> String {
    let mut text = String::from(
        "| part | earns most | costs most | earns in | costs in | changes nothing in | of worlds |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for switch in switches() {
        let played = switch.played(results, settings);
        if played.is_empty() {
            continue;
        }
        let count = |is: &dyn Fn(&Here) -> bool| played.iter().filter(|here| is(here)).count();
        let _ = writeln!(
            text,
            "| **{}**: {} | {} | {} | {} | {} | {} | {} |",
            switch.name,
            switch.about,
            told(&played, Effect::is_gain),
            told(&played, Effect::is_cost),
            count(&|here| here.most(Effect::is_gain).is_some()),
            count(&|here| here.most(Effect::is_cost).is_some()),
            count(&Here::is_nothing),
            played.len(),
        );
    }
    text
}
