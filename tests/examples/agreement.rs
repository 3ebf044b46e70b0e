//! Processes that never talk: what is held rides the same session in all, and what is not does not.

use crate::program::example;
use std::collections::BTreeSet;
use std::process::Command;

/// What a process printed.
#[derive(Debug, PartialEq)]
struct Said {
    held: Vec<String>,
    slots: BTreeSet<String>,
}

fn start(args: &str) -> Said {
    let program =
        Command::new(example("agreement")).args(args.split(' ')).output().expect("the program runs");
    assert!(program.status.success(), "{program:?}");
    let text = String::from_utf8(program.stdout).expect("text");
    let after =
        |mark: &str| text.lines().filter_map(|line| line.strip_prefix(mark)).map(str::to_owned).collect();
    let held: Vec<String> = after("held ");
    assert_eq!(held.len(), 100, "{text}");
    let slots: Vec<String> = after("slot ");
    Said { held, slots: slots.into_iter().collect() }
}

#[test]
fn a15_processes_with_one_seed_hold_the_same_sessions() {
    let (one, two) = (start("7 0 2"), start("7 1 2"));
    assert_eq!(one.held, two.held);
    assert_eq!(one.held.iter().collect::<BTreeSet<_>>().len(), 100, "each key and scope has its own");
    assert_eq!((one.slots.len(), two.slots.len()), (64, 64));
    assert!(one.slots.is_disjoint(&two.slots), "members draw apart");
    assert_eq!(start("7 0 2"), one, "and a process that is started again finds its own");
}

#[test]
fn another_seed_holds_other_sessions() {
    let (one, two) = (start("7 0 1"), start("8 0 1"));
    assert!(one.held.iter().all(|token| !two.held.contains(token)));
    assert!(one.slots.is_disjoint(&two.slots));
}

#[test]
fn digits_are_counted_apart_and_not_agreed_on() {
    let (one, two) = (start("7 0 2 digits"), start("7 1 2 digits"));
    let all = |said: &Said| said.held.iter().chain(&said.slots).cloned().collect::<BTreeSet<_>>();
    assert_eq!((all(&one).len(), all(&two).len()), (164, 164));
    assert!(all(&one).is_disjoint(&all(&two)));
}
