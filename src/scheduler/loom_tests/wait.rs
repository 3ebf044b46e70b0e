//! Nobody sleeps while there is something to take.

use super::*;
use std::future::Future as _;
use std::task::{Context, Waker};

/// It has come once, with a waker that wakes nobody.
fn in_line(scheduler: &Scheduler) -> std::pin::Pin<Box<crate::scheduler::Acquire>> {
    let mut waiter = Box::pin(scheduler.acquire(&ask()));
    assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waiter
}

fn nothing_is_left(scheduler: &Scheduler) {
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.waiting, fleet.in_flight), (0, 0));
}

#[test]
fn a_release_wakes_who_waits() {
    model(|| {
        let scheduler = one_lease();
        let out = lease(&scheduler);
        let waiter = thread::spawn({
            let scheduler = scheduler.clone();
            move || acquire(&scheduler).map(drop).unwrap()
        });
        drop(out);
        waiter.join().unwrap();
        nothing_is_left(&scheduler);
    });
}

#[test]
fn each_of_two_who_wait_is_woken_in_its_turn() {
    model(|| {
        let scheduler = one_lease();
        let out = lease(&scheduler);
        let waiters = [(); 2].map(|()| {
            let scheduler = scheduler.clone();
            thread::spawn(move || acquire(&scheduler).unwrap().report(Outcome::Ok))
        });
        drop(out);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        nothing_is_left(&scheduler);
    });
}

/// The task of a waiter may change between two polls, also while it is called.
#[test]
fn a_call_reaches_the_waker_that_came_last() {
    model(|| {
        let scheduler = one_lease();
        let out = lease(&scheduler);
        let waiter = in_line(&scheduler);
        let waiter = thread::spawn(move || block_on(waiter).map(drop).unwrap());
        drop(out);
        waiter.join().unwrap();
        nothing_is_left(&scheduler);
    });
}

#[test]
fn who_leaves_while_it_is_called_passes_its_turn_on() {
    model(|| {
        let scheduler = one_lease();
        let out = lease(&scheduler);
        let first = in_line(&scheduler);
        let next = thread::spawn({
            let scheduler = scheduler.clone();
            move || acquire(&scheduler).map(drop).unwrap()
        });
        let leaves = thread::spawn(move || drop(first));
        drop(out);
        leaves.join().unwrap();
        next.join().unwrap();
        nothing_is_left(&scheduler);
    });
}

/// The same, where a place in a trial is kept for who is called.
#[test]
fn who_leaves_a_trial_that_is_kept_for_it_passes_it_on() {
    model(|| {
        let scheduler = rested();
        let trial = lease(&scheduler);
        let first = in_line(&scheduler);
        let next = thread::spawn({
            let scheduler = scheduler.clone();
            move || assert!(acquire(&scheduler).unwrap().is_trial())
        });
        let leaves = thread::spawn(move || drop(first));
        drop(trial);
        leaves.join().unwrap();
        next.join().unwrap();
        nothing_is_left(&scheduler);
    });
}
