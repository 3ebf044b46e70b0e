//! An account that keeps its address, and a service that answers for its exits.

use crate::built::example;
use std::process::Command;

fn said(name: &str) -> String {
    let output = Command::new(example(name)).output().expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn an_identity_moves_only_when_the_program_accepts_it() {
    let said = said("identity");
    let exits: Vec<_> =
        said.split_whitespace().filter(|word| word.trim_end_matches([';', ',']).len() == 16).collect();
    let [home, lost, moved] = exits[..] else { panic!("{said}") };
    assert_eq!(home, lost.trim_end_matches(';'));
    assert_ne!(home, moved.trim_end_matches(','));
    assert!(
        said.contains("accepts generation 1") && said.contains("2 requests: a login and the page"),
        "{said}"
    );
}

#[test]
fn a_service_answers_for_its_exits_and_a_partner_sees_one_address() {
    let said = said("axum_outbound");
    assert!(said.starts_with("shop page        200 OK: <h1>/p/42</h1>"), "{said}");
    assert!(
        said.contains("partner order 3  200 OK") && said.contains("the partner saw 1 address\n"),
        "{said}"
    );
    assert!(said.contains("drained          503 Service Unavailable: the fleet is drained"), "{said}");
}

#[test]
fn what_a_site_says_in_its_own_way_is_known_by_rules() {
    let said = said("custom_rule");
    assert!(
        said.contains("with rules      0 of 60 pages are block pages; 63 sent, 3 known as blocks"),
        "{said}"
    );
    let blind = said.split("without rules").nth(1).and_then(|rest| rest.split_whitespace().next());
    assert!(blind.and_then(|pages| pages.parse().ok()).is_some_and(|pages: u32| pages > 20), "{said}");
}
