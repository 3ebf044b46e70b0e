//! The hot path allocates nothing.

use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler};

fn count(ask: &LeaseRequest) -> u64 {
    let exits = ExitList::parse("10.0.0.1:80\n10.0.0.2:80\n10.0.0.3:80").expect("a list");
    let scheduler = Scheduler::builder().exits(exits).seed(7).build().expect("exits");
    let round = || {
        let lease = scheduler.lease(ask).expect("an exit is usable");
        lease.report(Outcome::Ok);
    };
    round();
    allocation_counter::measure(|| (0..100).for_each(|_| round())).count_total
}

#[test]
fn a_sticky_hit_and_its_report_allocate_nothing() {
    assert_eq!(count(&LeaseRequest::new("sku-42").origin("shop.example")), 0);
}

#[test]
fn a_pick_and_its_report_allocate_nothing() {
    assert_eq!(count(&LeaseRequest::per_request().origin("shop.example")), 0);
}
