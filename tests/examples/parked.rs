//! What the fleet gives back is taken up again when it said so, and nothing is lost.

use crate::program::example;
use std::process::Command;

#[test]
fn what_is_parked_is_put_aside_within_a_bound_and_comes_back() {
    let output = Command::new(example("parked")).output().expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && output.stderr.is_empty(), "{said}");
    let number = |line: &str| -> u32 {
        line.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("2000 of 2000 pages in ") && lines[0].ends_with(" s, 0 lost"), "{said}");
    assert!((1..=300).contains(&number(lines[1])), "{said}");
    let parked = lines.iter().find(|line| line.contains("parked: too many")).map_or(0, |line| number(line));
    assert!(parked > 10, "{said}");
    assert!(said.contains(&format!("{:<21} {parked} requests, too many retries", "parked")), "{said}");
}
