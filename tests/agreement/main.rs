//! Two processes that never talk: what is held rides the same session in both, and what is not does not.
//!
//! The test starts its own program twice, each time to run [`a_process`] alone, which prints the tokens it was given.

#![allow(clippy::unwrap_used, reason = "a test, its functions included")]

use std::collections::BTreeSet;
use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;
use tower_egress::exit::Credential;
use tower_egress::{Gateway, LeaseRequest, Scheduler};

/// Says to the program that it is one of the processes: seed, member, and how many there are.
const ROLE: &str = "TOWER_EGRESS_TEST_ROLE";
const KEYS: usize = 50;
/// Long enough that no window ends between the start of one process and that of the next.
const WINDOW: Duration = Duration::from_secs(30 * 86_400);

/// What a process printed.
#[derive(Debug, PartialEq)]
struct Said {
    /// A token for each key and scope.
    held: Vec<String>,
    slots: BTreeSet<String>,
}

#[test]
#[ignore = "is one of the processes of the other tests"]
fn a_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let [seed, member, of, digits] = role.split(' ').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let gateway = Gateway::parse("http://user-{session}:pw@gw.test:7000").unwrap();
    let gateway = gateway.sessions(64.try_into().unwrap());
    let gateway = if digits == "digits" { gateway.digits() } else { gateway };
    let scheduler = Scheduler::builder()
        .gateway(gateway)
        .seed(seed.parse().unwrap())
        .member(member.parse().unwrap(), of.parse().unwrap())
        .build()
        .unwrap();
    let token = |ask: LeaseRequest| {
        let lease = scheduler.lease(&ask).unwrap();
        lease.route().credential().map(Credential::user).unwrap().to_owned()
    };
    // Begun with leases that only this member makes: what it drew and counted before must not matter.
    for _ in 0..1_000 + 100 * member.parse::<usize>().unwrap() {
        println!("slot {}", token(LeaseRequest::per_request().origin("shop.test")));
    }
    for key in 0..KEYS {
        let key = format!("sku-{key}");
        println!("held {}", token(LeaseRequest::new(key.as_str()).windowed(WINDOW).origin("shop.test")));
        println!("held {}", token(LeaseRequest::identity(key).origin("shop.test")));
    }
}

fn start(role: &str) -> Said {
    let program = Command::new(env::current_exe().unwrap())
        .args(["a_process", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(program.status.success(), "{role}");
    let text = String::from_utf8(program.stdout).unwrap();
    // The first word of a line may stand behind the harness's own.
    let after = |mark: &str| {
        text.lines().filter_map(|line| line.split_once(mark)).map(|(_, token)| token.to_owned()).collect()
    };
    let (held, slots): (Vec<String>, Vec<String>) = (after("held "), after("slot "));
    assert_eq!(held.len(), 2 * KEYS, "{text}");
    Said { held, slots: slots.into_iter().collect() }
}

#[test]
fn a15_processes_with_one_seed_hold_the_same_sessions() {
    let (one, two) = (start("7 0 2 letters"), start("7 1 2 letters"));
    assert_eq!(one.held, two.held);
    assert_eq!(one.held.iter().collect::<BTreeSet<_>>().len(), 2 * KEYS, "each key and scope has its own");
    assert_eq!((one.slots.len(), two.slots.len()), (64, 64));
    assert!(one.slots.is_disjoint(&two.slots), "members draw apart");
    assert_eq!(start("7 0 2 letters"), one, "and a process that is started again finds its own");
}

#[test]
fn another_seed_holds_other_sessions() {
    let (one, two) = (start("7 0 1 letters"), start("8 0 1 letters"));
    assert!(one.held.iter().all(|token| !two.held.contains(token)));
    assert!(one.slots.is_disjoint(&two.slots));
}

#[test]
fn digits_are_counted_apart_and_not_agreed_on() {
    let (one, two) = (start("7 0 2 digits"), start("7 1 2 digits"));
    let all = |said: &Said| said.held.iter().chain(&said.slots).cloned().collect::<BTreeSet<_>>();
    assert_eq!((all(&one).len(), all(&two).len()), (2 * KEYS + 64, 2 * KEYS + 64));
    assert!(all(&one).is_disjoint(&all(&two)));
}
