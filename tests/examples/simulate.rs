//! The simulator as a program: what it prints, what it writes.

use crate::program::example;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn simulate(folder: &Path, args: &[&str]) -> Output {
    let mut program = Command::new(example("simulate"));
    program.args(args).arg("--output").arg(folder).stdin(Stdio::null()).output().expect("the program runs")
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn it_prints_a_row_and_writes_a_line_for_each_design_in_each_world_and_no_page() {
    let out = folder("simulated");
    let args = ["--worlds", "U,Noise", "--pool", "200", "--policies", "naive,oracle", "--seeds", "2"];
    let output = simulate(&out, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    let (table, legend) = table.split_once("\n\n").expect("a legend below the table");
    assert!(legend.contains("banned hits    attempts on a banned exit"), "{legend}");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(
        rows[1..],
        [
            ["U", "200", "naive"],
            ["U", "200", "oracle"],
            ["Noise", "200", "naive"],
            ["Noise", "200", "oracle"],
        ]
    );
    let lines = fs::read_to_string(out.join("runs.jsonl")).unwrap();
    let runs: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 8);
    assert!(runs.iter().all(|run| run["jobs"] == 20_000 && run["log"].as_str().unwrap().len() == 64));
    let picture = fs::read_to_string(out.join("success-U.svg")).unwrap();
    assert!(picture.contains("naive") && picture.contains("oracle") && picture.contains("polyline"));
    assert!(
        picture.contains("bad time") && picture.matches("<circle").count() == 2,
        "each is done at its dot"
    );
    assert!(!out.join("simulation.md").exists(), "a page is written only if it is asked for");
}

/// The row of a table that begins so.
fn row<'a>(page: &'a str, begins: &str) -> Vec<&'a str> {
    let line = page.lines().find(|line| line.starts_with(begins));
    let line = line.unwrap_or_else(|| panic!("no row begins with {begins}: {page}"));
    line.trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn a_page_says_what_each_part_is_worth_where_it_was_played_and_what_is_worth_nothing_there() {
    let out = folder("told");
    let docs = out.join("docs");
    let worlds = ["--worlds", "Noise,Prices,Alike", "--pool", "20", "--seeds", "1"];
    let designs = ["--policies", "ours,ours-hold,naive,reqwest-retry", "--docs", docs.to_str().unwrap()];
    let output = simulate(&out, &[&worlds[..], &designs[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(docs.join("simulation.md")).unwrap();
    let tables = fs::read_to_string(docs.join("simulation").join("tables.md")).unwrap();

    let hold = row(&page, "| **hold**");
    assert_eq!(hold[1..], ["**nothing**", "**nothing**", "0", "0", "3", "3"], "no site was down");
    let classes = row(&page, "| **classes**");
    assert!(classes[1].starts_with("Prices at 20: p50 s of the price checks 0."), "{classes:?}");
    assert_eq!((classes[3], classes[6]), ("1", "1"));
    assert!(!page.contains("| **throttle**"), "nothing is said of what was not played without");
    assert_eq!(row(&page, "| naive |")[..2], ["naive", "3"], "in how many worlds it was compared");
    assert_eq!(row(&page, "| 20 | Noise, Prices, Alike |")[2], "ours, naive, reqwest-retry, ours-hold");

    let slower = row(&page, "| Prices | 20 |");
    assert!(slower[4].starts_with("reqwest-retry 5"), "who is done early with less is told: {slower:?}");
    assert_eq!(row(&tables, "| Noise | 20 | ours |")[5..7], ["20000", "0"]);
    assert!(row(&tables, "| Prices | 20 | naive |")[6].parse::<u32>().unwrap() > 10_000);
}

#[test]
fn what_is_not_there_is_named_and_nothing_is_played() {
    for (args, told) in [
        (
            ["--worlds", "T,Nose"],
            "'Nose' for '--worlds <NAMES>': there is none of this name; the nearest are Noise, ",
        ),
        (["--policies", "article"], "the nearest are article-a, article-b, "),
        (["--policies", "article"], ", and `--help` lists all\n"),
        (["--pool", "7"], "pools have 20, 200 or 1000 exits"),
        (["--seeds", "0"], "0 is not in"),
    ] {
        let output = simulate(&folder("unknown"), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn what_cannot_be_written_is_told_with_its_path_and_cure_before_anything_is_played() {
    let file = folder("a-file");
    fs::write(&file, "").unwrap();
    let output = simulate(&file.join("within"), &["--worlds", "Noise"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(
        error.contains("a-file/within/runs.jsonl cannot be written: ") && error.contains("--output"),
        "{error}"
    );
    assert!(!error.contains("runs in"), "{error}");
}

#[test]
fn the_help_names_all_worlds_and_designs() {
    let output = simulate(&folder("helped"), &["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    for name in [
        "Noise",
        "Esc-surge",
        "S3",
        "Stray10",
        "Brown",
        "Lossy",
        "ours-throttle",
        "article-b-repaired",
        "oracle",
    ] {
        assert!(help.contains(name), "{name} is missing: {help}");
    }
    assert!(help.matches("with commas").count() >= 3, "{help}");
}
