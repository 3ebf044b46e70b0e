//! The page: what was played, what came out, where ours loses. Written anew each time; nobody edits it.

use crate::gates::{self, Judged};
use crate::losses::{self, Compared};
use crate::play::Results;
use crate::plots::{self, Drawn};
use crate::settings::{self, Setting};
use crate::table;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tower_egress::lab::sim::Policy;

const ABOUT: &str = "\
The numbers below come from `src/lab/sim/`: sites that limit and ban, exits that lead to them, and work, in virtual time. The
fleet in it is this crate's own, the decisions that the scheduler makes. Each draw of a world is a hash of what it is for, so
that all designs meet the same luck, and a design that asks once more changes nobody else's. What stands here is an argument
about rules, not about products: the designs of others are their rules as published, behind the same classifier.";

const WORLDS: &str = "\
Unless it says otherwise: one site, 20,000 jobs, 256 workers that each do one job after the other (32 at 20 exits, 1,024 at
1,000), and attempts of 0.8 s in the median (log-normal, sigma 0.5).

| world | what the site does |
|---|---|
| T | lets each exit ask once in two seconds, with 5 at once; five violations in a minute are a ban of a minute, twice as long each time |
| T2, T3 | the same without `Retry-After`; the same as 30 in each minute |
| S | T, and at 60 s it bans 40 % of the exits for 300 s, whatever they did |
| Esc | T with bans four times as long each time, up to a day |
| Sub | T, and three banned exits of a /24 ban all ten |
| Soft | T with block pages that have status 200; the classifier sees 90 % of them |
| G | 60 a second for all exits together, beside 2 a second for each |
| H | blocks every fifth exit at 80 %, the others at 2 % |
| P | blocks a quarter of the jobs at 95 %, through whatever exit |
| U | blocks everybody at 60 % from 60 to 240 s, else at 3 % |
| A | blocks everybody, the more the more ask, above 60 a second |
| L | blocks 2 %; every fifth exit is eight times slower |
| Noise | blocks 2 %, whatever one does |
| Chance | limits 5 %, whatever one does and without a hint; 100,000 jobs |
| Mix | T with H's bad exits and 5 % of P's jobs |
| Many | 50 sites like T, the k-th with 1 / k of the first one's jobs |
| ...-surge | the same under an open load of half of what the site lets through, and four times that from 60 to 120 s (S: no more than half, since it has a bad time of its own) |
| Login, Stray5, Stray10 | Noise through sessions of one gateway, whose login is refused from 60 s on; in 5 %, in 10 % of the attempts though it is right |
| Full, Full2 | serves everybody, 40,000 jobs; the gateway opens 40 tunnels at once; half of the exits are behind another one that has room |
| Out, Brown | the same with a gateway that is not to be reached from 30 to 90 s; that refuses half of all from 30 to 60 s |
| Key, Key2 | the same with a login that is refused from 30 s on and has another password at 150 s; half of the exits are behind another gateway |
| Quota, Stray | the same with a login whose traffic is used up after 6,000 tunnels, and there is more after 150 s; with one right login refused in 10,000 |
| Dead, Gone | serves everybody; every fifth exit is dead from 30 s on, and says nothing for 10 s; refuses the connection at once |
| Flap, Lossy | the same with every fifth exit up for 20 s and down for 20 s; breaking off one body in twenty |
| Rot | T, 100,000 jobs, and each exit leaves from another address every 10 minutes |
| Prices, Alike | T with 264 workers, where one job in 33 is a price check: of a class that weighs three times as much; of none |
| S1 | two sites at 12 and 3 jobs a second for half an hour, 50 exits of which 5 are dead; a 429 says 60 s, a ban is 600 s; jobs have patience for 300 s |
| S2 | the same through one gateway, exits told apart by login alone |
| S3 | S1, and the larger site answers 503 to everybody from 600 to 780 s |";

const DESIGNS: &str = "\
What a line does not say is as with ours: the classifier, and 120 s for a job (S1 to S3: its patience). Where no rule says which
exit, it is a random one.";

const READING: &str = "\
Figures are medians over seeds, with the interval that holds 95 % of the medians of samples of this size (bootstrap); where it
would be as wide as nothing it is left out.

- **efficiency** is successes per attempt that was sent, and so per billed request; **per MB** is successes per megabyte sent
  and received, with what blocks and handshakes cost.
- **makespan** is when the last job was over; `inf` where ours lost more jobs than whom it is compared with. It says nothing without **failed**: who gives 18,000 of 20,000 jobs up is done
  early.
- **parked** counts how often a job was put aside with a time to come back, and its worker took another.
- **p50**, **p99** are from a job's beginning to its success; **wait** is what of it was spent on no attempt.
- **bans** and **exit-s burned** are what the site did; **banned hits** are attempts on a banned exit. **innocent** is the share of the
  exits resting by our rules, looked at every ten seconds, that the site would have served: what caution costs.
- **peak** is the busiest second at the site in the 15 s after a trouble began; **detect** is from there until at most a tenth of the
  attempts of five seconds was refused; **recover** is from its end until successes come at nine tenths of what was usual before.
- **meta** is attempts per success from 300 s after the trouble's end, over the same before it: above 1, the trouble keeps
  itself alive.

Lines of reference are no designs: **no-retry** sends each job once. **endless** sends each attempt through an address that
nobody has used. **oracle** sees at send time what is true (tokens, bans, dead and bad exits, poison, but not the future), and
sends nothing that is doomed. The **bound** is what nobody can do better: the time of all workers if no attempt fails, or the time in which the
site's limits let so many through.";

const LOSING: &str = "\
Every figure of ours that is more than 1 % worse than another design's in the same world, by the median of the differences
seed by seed. A row for each figure of a world, against the design that is better by most, with the others that are better beside
it; the largest loss first, as a share of theirs, each world with all of its rows. Makespans and p99 are compared only where both
left as many jobs unserved, but for 1 % of them: what is left undone takes no time.";

const WITHOUT: &str = "\
The same against itself by other rules, or without one of its parts: what each part costs. What it saves stands in the table of
how often, and in the tables below.";

const PICTURES: &str = "\
Of the first seed. A line ends with a dot where the design was done, or had given the rest up; without one it goes on beyond the
picture, which ends when ours could have been done four times. Grey is the site's bad time.";

/// The smallest p that so few seeds can have is above any threshold.
const FEW: &str = "With so few seeds no difference can be sure, whatever its size, so no p is told.";
/// Where one can.
const SURE: &str = "p is by signs drawn at random, after Holm over all worlds and sizes of a comparison.";

const GLOSSARY: &str = "\
- **hold**: a site that fails everybody is left alone as a whole, then tried by one request.
- **lane**: the turns that retries take, at each site and over the whole fleet: so many a second, whoever wants one.
- **governor**: the limit on requests that are under way at one site at once, where too many attempts fail (above 1.25 a success).
- **spacing**: the gap between two uses of one exit at a site, learned from its 429s.
- **suspicion**: what one block means, learned from the trials after it: where most pass, blocks are noise, and rests are short.
- **diagnosis**: what a site's blocks depend on: the request, the subnet, the exit, or none of them.
- **poison**: a job that the site refuses through whatever exit, as a quarter of them in P. *Poison found* is the share of them that ours
  stopped for that, of those that were not served by luck; *called poison that is* the share of what was stopped so that was.
- **shock**: the moment at which a site's bad time begins: in S at 60 s, when 40 % of the exits are banned at once.
- **metastability index**: *meta* above: attempts per success from 300 s after a trouble's end, over the same before it. At 1 the trouble
  is over when it is over; above, retries keep it alive.
- **bad time**, **trouble**: when a world's site does worse than it usually does, or the load is more than it lets through.";

/// Each design that was played, and what it does.
fn designs(settings: &[Setting], results: &Results) -> String {
    let played = |policy: &Policy| settings.iter().any(|setting| !results.of(setting, *policy).is_empty());
    let mut text = String::from("| design | does |\n|---|---|\n");
    for policy in settings::policies().filter(played) {
        let _ = writeln!(text, "| {} | {} |", policy.name(), policy.about());
    }
    text
}

fn bounds(settings: &[Setting]) -> String {
    let mut text = String::from("| world | exits | bound, s | attempts |\n|---|---|---|---|\n");
    for setting in settings {
        if let Some(bound) = setting.scenario().bound() {
            let Setting { world, exits } = setting;
            let _ = writeln!(text, "| {world} | {exits} | {:.0} | {:.0} |", bound.makespan, bound.attempts);
        }
    }
    text
}

/// What there is to tell.
pub(crate) struct Page<'a> {
    pub(crate) command: String,
    pub(crate) seeds: Range<u64>,
    pub(crate) settings: &'a [Setting],
    pub(crate) results: &'a Results,
    pub(crate) judged: &'a [Judged],
    pub(crate) compared: &'a [Compared],
}

impl Page<'_> {
    /// Writes it with its pictures.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let drawn = plots::all(self.results, self.settings, &folder.join("simulation"))?;
        fs::write(folder.join("simulation.md"), self.text(&drawn))?;
        Ok(())
    }

    fn text(&self, drawn: &[Drawn]) -> String {
        let Range { start, end } = self.seeds;
        let mut text = format!(
            "# What the rules are worth\n\n\
             Written by `{}`; seeds {start} to {}. Rules were chosen by other seeds than these.\n\n{ABOUT}\n\n",
            self.command,
            end - 1
        );
        let passed = self.judged.iter().filter(|gate| gate.passed).count();
        let designs = designs(self.settings, self.results);
        let _ = write!(text, "## The worlds\n\n{WORLDS}\n\n## The designs\n\n{DESIGNS}\n\n{designs}\n");
        let _ = write!(text, "## How to read the tables\n\n{READING}\n\n### Words\n\n{GLOSSARY}\n\n");
        let _ = write!(
            text,
            "## Gates\n\n{passed} of {} passed.\n\n{}\n",
            self.judged.len(),
            gates::markdown(self.judged)
        );
        let sure = if losses::can_be_sure(self.compared) { SURE } else { FEW };
        let _ = write!(
            text,
            "## Where it loses\n\n{LOSING} {sure}\n\n{}\n",
            losses::markdown(self.compared, false)
        );
        let _ = write!(text, "How often, over all worlds and sizes:\n\n{}\n", losses::score(self.compared));
        let _ = write!(text, "## Where it is better without a part\n\n{WITHOUT}\n\n");
        let _ = writeln!(text, "{}", losses::markdown(self.compared, true));
        let _ = write!(text, "## Pictures\n\n{PICTURES}\n\n");
        for Drawn { file, title } in drawn {
            let _ = writeln!(text, "![{title}](simulation/{file})\n");
        }
        text.push_str("## Tables\n\n");
        for exits in sizes(self.settings) {
            let here: Vec<Setting> =
                self.settings.iter().filter(|setting| setting.exits == exits).cloned().collect();
            let _ = write!(text, "### {exits} exits\n\n{}\n", table::markdown(self.results, &here));
        }
        let _ = write!(text, "## Bounds\n\n{}", bounds(self.settings));
        text
    }
}

/// The sizes that were played, as the settings have them.
fn sizes(settings: &[Setting]) -> Vec<u32> {
    let mut sizes = Vec::new();
    for setting in settings {
        if !sizes.contains(&setting.exits) {
            sizes.push(setting.exits);
        }
    }
    sizes
}
