//! Two granularities on one scheduler: what holds keeps, what does not spreads, and a burn is known to both.

use crate::program::example;
use std::process::Command;

/// The first number in a line's text after `before`.
fn number(line: &str, before: &str) -> u32 {
    let (_, rest) = line.split_once(before).unwrap_or_else(|| panic!("{before:?} is not in {line:?}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number after {before:?} in {line:?}"))
}

#[test]
fn a19_prices_keep_their_exits_a_crawl_uses_all_and_a_burn_is_known_to_both() {
    let output = Command::new(example("prices_and_crawl")).output().expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "price checks  12 products twice: 12 kept their exits");
    let crawl = "crawl         400 pages through 19 exits; 1 refused, and fetched through another";
    assert_eq!(lines[1], crawl, "one request finds the burn out");
    let (kept, left) = (number(lines[2], "price checks"), number(lines[2], "kept their exits, "));
    assert!(left >= 1 && kept + left == 12, "{said}");
    assert_eq!(number(lines[2], "left the burned one;"), 0, "they leave before they are refused");
    // One table for both: all leases of both, and the one burn.
    assert!(said.contains("leases                437, 0 out"), "{said}");
    assert!(said.contains("outcomes              ok 436, blocked 1\n"), "{said}");
}
