//! What a request costs through a hundred exits, over sockets: CPU time, instructions, allocations and heap, beside
//! hyper-util's legacy client and reqwest. `benches/README.md` has the command and the figures.

mod clients;
mod far;
mod held;
mod hop;
mod memory;
mod time;
mod world;

use crate::measure::{Case, Cost, Round, Table};
use clients::{Alone, Layered, Reqwest, hyper_forward, hyper_tunnel};
pub(crate) use far::serve as far;
pub(crate) use held::hold;

use far::Far;
use std::time::Duration;
use tower_egress::LeaseRequest;
use world::{Client, WORLDS, World, runtime};

pub(crate) const TABLE: Table = Table {
    name: "request-path",
    cases,
    first: time::tables,
    holds: |costs| {
        let (cheap, small) = (switches(costs), memory::tables());
        cheap && small
    },
};

/// How many exits there are.
const EXITS: usize = 100;

/// How many instructions more another warm exit may cost than the same one.
const SWITCH: u64 = 2_000;

/// A round fetches one page; none is under way at the same time, so that each one costs the same. Every exit is warm.
fn rounds<C: Client>(make: impl Fn(&Far) -> C) -> Round {
    let far = Far::start(EXITS).expect("a far side");
    let (runtime, client) = (runtime(), make(&far));
    let mut turn = 0;
    let mut round = move || {
        let _keep = &far;
        runtime.block_on(client.page(turn));
        turn += 1;
    };
    (0..2 * EXITS).for_each(|_| round());
    Box::new(round)
}

/// Keys that hold an exit for a day: one that moves in the middle may open a connection.
fn keys(keys: usize) -> Vec<LeaseRequest> {
    let day = Duration::from_secs(86_400);
    (0..keys).map(|key| LeaseRequest::new(format!("sku-{key}")).windowed(day)).collect()
}

fn cases() -> Vec<Case> {
    let of = |world: World| {
        // Untimed: what a request takes of which no other is under way says little of a fleet.
        let case = |name: &str, make: Box<dyn Fn() -> Round>| Case {
            rounds: 2_000,
            timed: false,
            ..Case::new(format!("{world}: {name}"), make)
        };
        let alone = move |exits: usize| Box::new(move || rounds(|far| Alone::new(far, world, exits)));
        let layered = move |many: usize| Box::new(move || rounds(|far| Layered::new(far, world, keys(many))));
        let hyper = move || match world {
            World::Forward => rounds(hyper_forward),
            World::Tunnel => rounds(hyper_tunnel),
        };
        // Timers ride on real time here, so that a round of the layers costs up to 3 % more in one run than in another.
        let [exit_client, egress_layer] = match world {
            World::Forward => [(31_200, 20), (47_200, 27)],
            World::Tunnel => [(36_800, 23), (52_000, 29)],
        };
        [
            case("ExitClient, the same exit", alone(1)).within(exit_client.0, exit_client.1),
            case("ExitClient, another warm exit", alone(EXITS)).within(exit_client.0, exit_client.1),
            case("EgressLayer, the same key", layered(1)).within(egress_layer.0, egress_layer.1),
            case("EgressLayer, another key", layered(EXITS)).within(egress_layer.0, egress_layer.1),
            case("hyper-util, another client", Box::new(hyper)),
            case("reqwest, another client", Box::new(move || rounds(|far| Reqwest::new(far, world)))),
        ]
    };
    WORLDS.into_iter().flat_map(of).collect()
}

/// Whether a switch to another warm exit costs little more than to stay.
fn switches(costs: &[Option<Cost>]) -> bool {
    let mut cheap = true;
    for (world, costs) in WORLDS.iter().zip(costs.chunks(costs.len() / WORLDS.len())) {
        for (name, pair) in ["ExitClient", "EgressLayer"].iter().zip(costs.chunks(2)) {
            let [Some(stay), Some(switch)] = pair else { return false };
            let more = switch.instructions.saturating_sub(stay.instructions);
            let met = more <= SWITCH;
            println!(
                "{world}: {name}, {more} instructions more for another; aim: <= {SWITCH}, {}",
                word(met)
            );
            cheap &= met;
        }
    }
    cheap
}

/// What became of an aim.
fn word(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}
