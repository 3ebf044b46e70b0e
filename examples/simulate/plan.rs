//! What `--full` plays, and so what the page tells of: which worlds, at which sizes, by which designs.

use crate::settings::Setting;
use tower_egress::lab::sim::{Part, Policy, Scenario};

/// Worlds that are played at the same sizes and by the same designs.
struct Group {
    worlds: Vec<&'static str>,
    /// S1 to S3 have their own.
    sizes: &'static [u32],
    policies: fn() -> Vec<Policy>,
}

/// The designs that are played everywhere, beside ours without one of its parts and by other rules: a loop, and what most services
/// or crawlers have.
const USUAL: [Policy; 5] = [Policy::Naive, Policy::Tower, Policy::Crawlee4, Policy::Envoy10, Policy::Aws];

fn every() -> Vec<Policy> {
    let ours = [Policy::OursArticle, Policy::OursNegotiated];
    let parts = Part::ALL.iter().map(|part| Policy::Without(*part));
    Policy::ALL.iter().copied().chain(ours).chain(parts).chain([Policy::Oracle]).collect()
}

fn usual() -> Vec<Policy> {
    every()
        .into_iter()
        .filter(|policy| policy.is_ours() || USUAL.contains(policy) || *policy == Policy::Oracle)
        .collect()
}

/// Those without ours by other rules or without a part: where that tells no more than in the same site's other worlds, or a run has
/// five times as many jobs.
fn designs() -> Vec<Policy> {
    usual().into_iter().filter(|policy| !policy.is_ours() || *policy == Policy::Ours).collect()
}

fn groups() -> Vec<Group> {
    let group = |worlds: &[&'static str], sizes, policies| Group { worlds: worlds.to_vec(), sizes, policies };
    let rest: Vec<&str> = Scenario::NAMES
        .iter()
        .copied()
        .filter(|name| !Scenario::CORE.contains(name) && *name != "A")
        .collect();
    vec![
        group(&Scenario::CORE, &[200, 20], every),
        group(&rest, &[200, 20], usual),
        group(&["Dead", "Gone", "Flap", "Lossy"], &[200, 20], usual),
        group(&["Rot", Scenario::PRICES[0], Scenario::PRICES[1]], &[200, 20], designs),
        group(&["Out", "Brown", "Key", "Key2"], &[200, 20], usual),
        // With 32 workers nobody asks A too often, nor opens more tunnels than Full does.
        group(&["A", "Full", "Full2", "Quota", "Login", "Stray5", "Stray10", "Stray"], &[200], usual),
        group(&["T-surge", "S-surge"], &[200, 20], usual),
        group(&["Esc-surge", "Sub-surge"], &[200, 20], designs),
        group(&["S1", "S2", "S3"], &[50], usual),
    ]
}

impl Group {
    fn settings(&self) -> Vec<Setting> {
        let at =
            |exits: &u32| self.worlds.iter().map(|world| Setting::new(world, *exits)).collect::<Vec<_>>();
        self.sizes.iter().flat_map(at).collect()
    }
}

/// All of it.
pub(crate) fn wanted() -> Vec<(Vec<Setting>, Vec<Policy>)> {
    groups().iter().map(|group| (group.settings(), (group.policies)())).collect()
}

/// The worlds with their sizes, the large ones first.
pub(crate) fn settings() -> Vec<Setting> {
    let mut all: Vec<Setting> = groups().iter().flat_map(Group::settings).collect();
    all.sort_by_key(|setting| std::cmp::Reverse(setting.exits));
    all
}
