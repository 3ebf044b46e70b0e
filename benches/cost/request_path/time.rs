//! CPU time of the client's thread for a request, by clients that take turns.

use super::clients::{Alone, Layered, Reqwest, hyper_forward, hyper_tunnel};
use super::far::Far;
use super::world::{Client, WORLDS, World, fetch, runtime};
use super::{EXITS, word};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::runtime::Runtime;
use tower_egress::LeaseRequest;

const IN_FLIGHT: usize = 16;
const ROUNDS: usize = 9;
const PAGES: usize = 10_000;

/// Who takes turns: the row's name, and what it is to cost at most of the two peers' rows.
const ROWS: [(&str, Option<(f64, f64)>); 4] = [
    ("ExitClient", Some((1.10, 0.75))),
    ("EgressLayer around it", Some((1.25, 0.75))),
    ("hyper-util's legacy client, one an exit", None),
    ("reqwest, one an exit", None),
];
const HYPER: usize = 2;
const REQWEST: usize = 3;

/// Prints what a request costs in both worlds, beside the aims. Nothing here decides an exit status: it is time.
pub(crate) fn tables() {
    for world in WORLDS {
        let far = Far::start(EXITS).expect("a far side");
        let runtime = runtime();
        let asks = vec![LeaseRequest::per_request()];
        let mut clients = [
            turns(Alone::new(&far, world, EXITS)),
            turns(Layered::new(&far, world, asks)),
            match world {
                World::Forward => turns(hyper_forward(&far)),
                World::Tunnel => turns(hyper_tunnel(&far)),
            },
            turns(Reqwest::new(&far, world)),
        ];
        // In these all exits get their connections.
        clients.iter_mut().for_each(|pages| pages(&runtime, PAGES / 5));
        let mut runs: [Vec<f64>; ROWS.len()] = Default::default();
        for _ in 0..ROUNDS {
            for (runs, pages) in runs.iter_mut().zip(&mut clients) {
                let before = spent();
                pages(&runtime, PAGES);
                runs.push((spent() - before).as_secs_f64() * 1e6 / PAGES as f64);
            }
        }
        print(world, &runs);
    }
}

/// Fetches so many pages, on from where it was.
type Turns = Box<dyn FnMut(&Runtime, usize)>;

fn turns<C: Client>(client: C) -> Turns {
    let (client, next) = (Arc::new(client), Arc::<AtomicUsize>::default());
    Box::new(move |runtime, pages| fetch(runtime, &client, &next, pages, IN_FLIGHT))
}

fn print(world: World, runs: &[Vec<f64>; ROWS.len()]) {
    let title = format!("{world}, {EXITS} exits, {IN_FLIGHT} in flight: a request");
    println!("{title:<46}{:>9}{:>11}{:>13}", "CPU µs", "of hyper's", "of reqwest's");
    for ((name, aims), row) in ROWS.iter().zip(runs) {
        // Rounds are compared one by one: what slowed one down slowed all its turns.
        let of = |peer: usize| median(row.iter().zip(&runs[peer]).map(|(own, peer)| own / peer));
        let (of_hyper, of_reqwest) = (of(HYPER), of(REQWEST));
        print!("{name:<46}{:>9.1}{of_hyper:>11.2}{of_reqwest:>13.2}", median(row.iter().copied()));
        if let Some((hyper, reqwest)) = aims {
            let (of_hyper, of_reqwest) = (word(of_hyper <= *hyper), word(of_reqwest <= *reqwest));
            print!("  aims: <= {hyper:.2} {of_hyper}, <= {reqwest:.2} {of_reqwest}");
        }
        println!();
    }
    println!();
}

fn median(runs: impl Iterator<Item = f64>) -> f64 {
    let mut runs: Vec<f64> = runs.collect();
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

/// The CPU time of this thread, of user and kernel. Linux counts it up to the last switch, so there is one first.
fn spent() -> Duration {
    std::thread::sleep(Duration::from_millis(1));
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux's /proc");
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds come first"))
}
