//! How often ours is better than another design, and how often worse.

use crate::losses::{Compared, can_be_sure};
use crate::measure::MEASURES;
use crate::settings;
use std::fmt::Write as _;

/// How often one figure is better than theirs, as good, worse, and not to be compared; where it can be, how often surely.
fn cell(rows: &[&Compared], tells_sure: bool) -> String {
    let count = |is: &dyn Fn(&Compared) -> bool| rows.iter().filter(|row| is(row)).count();
    let surely = |is: fn(&Compared) -> bool| {
        let sure = count(&|row| is(row) && row.is_sure());
        if tells_sure { format!("{} ({sure})", count(&is)) } else { count(&is).to_string() }
    };
    let as_good = count(&|row| !row.differs() && !row.is_unequal);
    let mut text = format!("{} / {as_good} / {}", surely(Compared::is_better), surely(Compared::is_loss));
    let unequal = count(&|row| row.is_unequal);
    if unequal > 0 {
        let _ = write!(text, " / {unequal}");
    }
    text
}

/// A row for each design.
pub(crate) fn markdown(compared: &[Compared]) -> String {
    let heads: Vec<&str> = MEASURES.iter().map(|measure| measure.what).collect();
    let mut text =
        format!("| against | worlds | {} |\n|---|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let tells_sure = can_be_sure(compared);
    for theirs in settings::policies() {
        let of = |what| -> Vec<&Compared> {
            compared.iter().filter(|row| row.theirs == theirs && row.what == what).collect()
        };
        let worlds = of(MEASURES[0].what).len();
        if worlds > 0 {
            let cells: Vec<String> = heads.iter().map(|what| cell(&of(what), tells_sure)).collect();
            let _ = writeln!(text, "| {} | {worlds} | {} |", theirs.name(), cells.join(" | "));
        }
    }
    text
}
