//! The words of the page: what was played, and how to read what came out.

pub(crate) const ABOUT: &str = "\
The numbers below come from `src/lab/sim/`: sites that limit and ban, exits that lead to them, and work, in virtual time. The
fleet in it is this crate's own, the decisions that the scheduler makes. Each draw of a world is a hash of what it is for, so
that all designs meet the same luck, and a design that asks once more changes nobody else's. What stands here is an argument
about rules, not about products: the designs of others are their rules as published, behind the same classifier.";

pub(crate) const WORLDS: &str = "\
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

pub(crate) const DESIGNS: &str = "\
What a line does not say is as with ours: the classifier, and 120 s for a job (S1 to S3: its patience). Where no rule says which
exit, it is a random one.";

pub(crate) const READING: &str = "\
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

pub(crate) const GATES: &str = "\
What must be true of ours; `--gates` checks it with 30 seeds. What the [worlds](#the-worlds) do, which [designs](#the-designs) there are,
and what the [words](#words) mean stands below.";

pub(crate) const VERDICTS: &str = "\
What ours said that a site's blocks depend on, beside what they do depend on: looked at every ten seconds of all seeds. Nothing is said where nothing is
blocked, before two looks five seconds apart agree, or where the figures do not tell. *The exit* names the worst; *the pattern* says that other exits do not
help. Both are for people; only what is laid to a request, or to a subnet, changes what the fleet does.";

pub(crate) const WORTH: &str = "\
Each part of ours that can be switched off, in all worlds and sizes in which that was played, and the default rules of retries against the
crate's other presets. The program chooses the three worlds where a figure is worse by most without the part, and the three where one is worse by most
with it; the figures are medians, with the part and without it. A figure counts from 5 % on, if all of the interval of its difference is on one side of none:
with five seeds, if no seed disagrees, which happens by chance in one of sixteen cases, so that single worlds may be luck. Jobs that are not served
are weighed by all jobs, bans by the exits, all else by the smaller of the two. A part changes nothing where every figure is within 1 %.";

pub(crate) const LOSING: &str = "\
Every figure of ours that is at least 5 % worse than another design's in the same world, by the median of the differences
seed by seed. A row for each figure of a world, against the design that is better by most, with the others that are better beside
it; the largest loss first, as a share of theirs, each world with all of its rows. Makespans and p99 are compared only where both
left as many jobs unserved, but for 1 % of them: what is left undone takes no time. Where they did not, makespans stand in the list
of what was far slower.";

pub(crate) const ALL_LOSSES: &str = "Where it loses, from 1 % on.";

pub(crate) const UNEVEN: &str = "\
Worlds in which ours took more than 1.5 times as long as the oracle, or as designs that left more jobs unserved, or fewer: medians, those furthest from
the oracle first, with the three of the others that served most. Who serves fewer jobs is no better for being done early, but some may want that.";

pub(crate) const SEEDS: &str = "\
Medians hide what happens now and then. Worlds in which a seed took ours more than 1.5 times its median, or left 1 % of the jobs more
unserved, with the worst of these seeds, and the design that left fewest unserved with it.";

pub(crate) const OFTEN: &str = "\
In how many worlds and sizes ours is better / as good / worse by more than 1 %, and in how many both did unequal work, if in any;
in brackets how often surely, where there are seeds enough to tell. The last rows are ours without a part or by other rules:
where that is worse, the part costs something.";

pub(crate) const PLAYED: &str = "\
The long tables are in [a file of their own](simulation/tables.md). What is not here can be played by its name (`--worlds`, `--policies`, also with 1,000 exits: `--pool`).";

pub(crate) const WITHOUT: &str = "\
Ours against itself by other rules, or without one of its parts: what each part costs, from 1 % on. What it saves stands on the page, and in the tables below.";

pub(crate) const PICTURES: &str = "\
Of the first seed. A line ends with a dot where the design was done, or had given the rest up; without one it goes on beyond the
picture, which ends when ours could have been done four times. Grey is the site's bad time.";

/// The smallest p that so few seeds can have is above any threshold.
pub(crate) const FEW: &str =
    "With so few seeds no difference can be sure, whatever its size, so no p is told.";
/// Where one can.
pub(crate) const SURE: &str =
    "p is by signs drawn at random, after Holm over all worlds and sizes of a comparison.";

pub(crate) const GLOSSARY: &str = "\
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
