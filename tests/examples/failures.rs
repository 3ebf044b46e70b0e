//! What a new user reads off `--failures`.

use crate::program::example;
use std::process::{Command, Output, Stdio};

fn show() -> Output {
    Command::new(example("fetch")).arg("--failures").stdin(Stdio::null()).output().expect("the program runs")
}

/// What stands under a question.
fn answer<'a>(text: &'a str, question: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\nWhat happened to my {question}? (")).expect(question);
    rest.split("\n\n").next().unwrap_or(rest)
}

/// Pages fetched and asked for, attempts, and what was billed.
fn cost(answer: &str) -> [u64; 4] {
    let row = answer.lines().find_map(|line| line.trim().strip_prefix("cost")).expect("a row of costs");
    let (figures, _) = row.split_once(": ").expect("figures, and what they mean");
    let figures: Vec<u64> = figures.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    figures.try_into().expect("four figures")
}

/// After how many seconds it had healed.
fn healed(answer: &str) -> f64 {
    let (_, rest) = answer.split_once("  healed     after ").expect("a row");
    rest.split_whitespace().next().expect("a figure").parse().expect("a number")
}

#[test]
fn each_failure_happens_and_heals_and_a_user_can_read_off_how() {
    let output = show();
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty() && !text.contains("NOT HEALED"), "{output:?}");
    for row in ["happened", "requests", "scheduler", "cost", "healed"] {
        assert_eq!(text.matches(&format!("\n  {row} ")).count(), 9, "{row}: {text}");
    }

    let proxy = answer(&text, "dead proxy");
    let [fetched, asked, sent, billed] = cost(proxy);
    assert_eq!((fetched, sent, billed), (asked, asked + 3, asked), "{proxy}");
    assert!((4.5..7.0).contains(&healed(proxy)) && proxy.contains("by 1 trial"), "{proxy}");

    let blocked = answer(&text, "403");
    let [fetched, asked, sent, billed] = cost(blocked);
    assert!(fetched == asked && sent == billed && billed > asked, "{blocked}");
    assert!(healed(blocked) >= 10.0 && blocked.contains("by 1 trial"), "{blocked}");
    assert!(blocked.contains("0 of 20 pages of shop.test"), "{blocked}");
    assert!(
        blocked.contains("1 trial. The rest of 1") && blocked.contains("were not refused lately go first"),
        "{blocked}"
    );

    let limited = answer(&text, "429");
    let [fetched, asked, sent, billed] = cost(limited);
    assert_eq!((fetched, sent, billed), (asked, asked + 1, asked + 1), "{limited}");
    assert!((20.0..26.0).contains(&healed(limited)) && limited.contains("its own exit again"), "{limited}");

    let down = answer(&text, "site's 503");
    let [fetched, asked, sent, billed] = cost(down);
    assert!(fetched == asked && billed == sent && sent <= asked + 26, "{down}");
    assert!((12.0..30.0).contains(&healed(down)) && down.contains("0 exits are charged"), "{down}");

    let spaced = answer(&text, "many 429s");
    let [fetched, asked, sent, billed] = cost(spaced);
    assert!(fetched == asked && sent == billed && (sent - asked) * 5 < asked, "{spaced}");
    assert!(
        spaced.contains("learned from its 429s") && spaced.contains("billed, once it was learned: "),
        "{spaced}"
    );

    let parked = answer(&text, "parked requests");
    let [fetched, asked, sent, billed] = cost(parked);
    assert!(fetched == asked && sent >= billed && sent < asked + 420 && healed(parked) > 8.0, "{parked}");
    assert!(
        parked.contains("were parked") && !parked.contains(" 0 were parked") && !parked.contains("unsent"),
        "{parked}"
    );

    for (question, rest) in [("gateway's 503", 2.0..6.0), ("gateway's 429", 20.0..26.0)] {
        let gateway = answer(&text, question);
        let [fetched, asked, sent, billed] = cost(gateway);
        assert!(fetched == asked && billed == asked && sent >= asked + 20, "{gateway}");
        assert!(rest.contains(&healed(gateway)) && gateway.contains("; 0 are charged"), "{gateway}");
    }

    let login = answer(&text, "wrong password");
    assert_eq!(cost(login), [0, 21, 21, 0], "{login}");
    assert!(login.contains("healed     by hand: Operator::set_gateway"), "{login}");
    assert!(login.contains("21 of 21 pages fetched, 21 sent, 21 billed"), "{login}");
}

#[test]
fn what_it_says_is_the_same_each_time_and_holds_no_login() {
    let [first, second] = [show(), show()].map(|output| output.stdout);
    let text = String::from_utf8(first).expect("text");
    assert_eq!(text.as_bytes(), second);
    for secret in ["pw", "user-", "\"new\""] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}
