//! An account that keeps its address, a service that answers for its exits, and a client of another crate.

use crate::program::example;
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
    assert!(said.contains("limited          503 Service Unavailable (again in"), "{said}");
    assert!(said.contains("drained          503 Service Unavailable: nothing"), "{said}");
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

/// What the environment says of proxies is not asked: it would lead everything past the exits.
#[test]
fn reqwest_fetches_through_exits_and_ignores_the_environment() {
    let output = Command::new(example("from_reqwest"))
        .env("NO_PROXY", "*")
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .output()
        .expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let pages: Vec<_> = said.lines().filter(|line| line.contains(" 200 OK through ")).collect();
    assert_eq!(pages.len(), 10, "{said}");
    assert!(pages.iter().any(|line| !line.ends_with("after 1 attempt(s)")), "a bad exit was met: {said}");
}
