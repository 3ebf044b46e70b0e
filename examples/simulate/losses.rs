//! Ours against each of the others, seed by seed, and above all where it loses.

use crate::measure::{MEASURES, Measure, UNSERVED, WORTH_TELLING, is_equal_work, median, values};
use crate::play::Results;
use crate::settings::{self, Setting};
use std::fmt::Write as _;
use tower_egress::lab::sim::{Paired, Policy, holm, paired};

/// Losses from this share of theirs on are told on the page itself.
pub(crate) const PLAIN: f64 = 0.05;
/// A difference is sure below this, after Holm over all settings.
const SURE: f64 = 0.05;

pub(crate) struct Compared {
    pub(crate) setting: Setting,
    pub(crate) theirs: Policy,
    pub(crate) what: &'static str,
    digits: usize,
    /// Medians: ours, theirs.
    pub(crate) medians: (f64, f64),
    paired: Paired,
    /// After Holm over the settings.
    p: f64,
    /// The smallest p that there could be, after Holm: the signs of as many seeds all alike.
    least: f64,
    /// How many jobs each did not serve.
    pub(crate) lost: (f64, f64),
    /// It compares who did different amounts of work.
    pub(crate) is_unequal: bool,
}

/// One measure against one other policy, in all settings in which both were played.
fn against(results: &Results, settings: &[Setting], theirs: Policy, measure: &Measure) -> Vec<Compared> {
    let Measure { what, of, needs_equal_work, digits, .. } = *measure;
    let mut compared: Vec<Compared> = Vec::new();
    for setting in settings {
        let (ours, others) = (results.of(setting, Policy::Ours), results.of(setting, theirs));
        if ours.is_empty() || others.is_empty() {
            continue;
        }
        let (mine, other) = (values(ours, of), values(others, of));
        let lost = (median(ours, UNSERVED.of), median(others, UNSERVED.of));
        let paired = paired(&mine, &other);
        compared.push(Compared {
            setting: setting.clone(),
            theirs,
            what,
            digits,
            medians: (median(ours, of), median(others, of)),
            p: paired.p,
            least: 0.5_f64.powi(mine.len().min(other.len()).saturating_sub(1) as i32),
            paired,
            lost,
            is_unequal: needs_equal_work && !is_equal_work(ours, others),
        });
    }
    let adjusted = holm(&compared.iter().map(|compared| compared.p).collect::<Vec<_>>());
    let many = compared.len() as f64;
    for (compared, p) in compared.iter_mut().zip(adjusted) {
        compared.p = p;
        compared.least *= many;
    }
    compared
}

/// Ours against all others but the lines of reference.
pub(crate) fn all(results: &Results, settings: &[Setting]) -> Vec<Compared> {
    let others = settings::policies().filter(|policy| *policy != Policy::Ours && !policy.is_reference());
    let each = |theirs: Policy| -> Vec<Compared> {
        MEASURES.iter().flat_map(|measure| against(results, settings, theirs, measure)).collect()
    };
    others.flat_map(each).collect()
}

impl Compared {
    pub(crate) fn differs(&self) -> bool {
        let far = self.paired.difference.median.abs() > WORTH_TELLING * self.medians.1.abs();
        far && !self.is_unequal
    }

    pub(crate) fn is_loss(&self) -> bool {
        self.differs() && self.paired.difference.median > 0.0
    }

    pub(crate) fn is_better(&self) -> bool {
        self.differs() && !self.is_loss()
    }

    pub(crate) fn is_sure(&self) -> bool {
        self.p < SURE
    }

    /// How much more it is, as a share of theirs; of what is counted they may have none.
    fn share(&self) -> f64 {
        self.paired.difference.median / self.medians.1.abs().max(1.0)
    }
}

/// Whether so few seeds and so many settings leave room for a difference that is sure.
pub(crate) fn can_be_sure(compared: &[Compared]) -> bool {
    compared.iter().any(|row| row.least < SURE)
}

/// What is lost to all who are better in one setting by one figure, to whom most first.
fn groups(compared: &[Compared], than_itself: bool) -> Vec<Vec<&Compared>> {
    let mut groups: Vec<Vec<&Compared>> = Vec::new();
    for row in compared.iter().filter(|row| row.is_loss() && row.theirs.is_ours() == than_itself) {
        let same = |group: &&mut Vec<&Compared>| group[0].what == row.what && group[0].setting == row.setting;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let larger = |a: &Compared, b: &Compared| b.share().total_cmp(&a.share());
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| larger(a, b)));
    // A setting's rows stay together: by its largest loss, then each by its own.
    let rank = |one: &[&Compared]| {
        let here = groups.iter().filter(|group| group[0].setting == one[0].setting);
        here.map(|group| group[0].share()).fold(0.0, f64::max)
    };
    let ranks: Vec<f64> = groups.iter().map(|group| rank(group)).collect();
    let mut ranked: Vec<(f64, Vec<&Compared>)> = ranks.into_iter().zip(groups).collect();
    ranked.sort_by(|(rank, a), (other, b)| {
        let together =
            || (&a[0].setting.world, a[0].setting.exits).cmp(&(&b[0].setting.world, b[0].setting.exits));
        other.total_cmp(rank).then_with(together).then_with(|| larger(a[0], b[0]))
    });
    ranked.into_iter().map(|(_, group)| group).collect()
}

/// A row for each figure of which ours has more than somebody else in a world, against whom it has most more; or than itself by
/// other rules, or without a part. The p is told where there can be one that says something. Beside it how many rows there are of
/// losses below this share of theirs, which are left out.
pub(crate) fn markdown(compared: &[Compared], than_itself: bool, least: f64) -> (String, usize) {
    let (groups, small): (Vec<_>, Vec<_>) =
        groups(compared, than_itself).into_iter().partition(|group| group[0].share() >= least);
    if groups.is_empty() {
        return ("None.\n".to_owned(), small.len());
    }
    let tells_p = can_be_sure(compared);
    let p = |figure: String| if tells_p { format!(" {figure} |") } else { String::new() };
    let mut text = format!(
        "| world | exits | | ours | theirs | by | difference |{} not served, ours and theirs | also better |\n\
         |---|---|---|---|---|---|---|{}---|---|\n",
        p("p".to_owned()),
        if tells_p { "---|" } else { "" },
    );
    for group in groups {
        let lost = group[0];
        let Setting { world, exits } = &lost.setting;
        let digits = lost.digits;
        let also: Vec<String> = group[1..]
            .iter()
            .map(|row| format!("{} {:.digits$}", row.theirs.name(), row.medians.1))
            .collect();
        let _ = writeln!(
            text,
            "| {world} | {exits} | {} | {:.digits$} | {:.digits$} | {} | {} |{} {:.0}, {:.0} | {} |",
            lost.what,
            lost.medians.0,
            lost.medians.1,
            lost.theirs.name(),
            crate::table::show(lost.paired.difference, digits),
            p(format!("{:.3}", lost.p)),
            lost.lost.0,
            lost.lost.1,
            if also.is_empty() { "-".to_owned() } else { also.join(", ") },
        );
    }
    (text, small.len())
}
