//! The README quotes the page that the simulator writes, and nothing else: each of its figures stands there.

use std::fs;
use std::path::Path;

const SECTION: &str = "\n## What it is worth\n";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of this repository")
}

fn section() -> String {
    let readme = read("README.md");
    let (_, section) = readme.split_once(SECTION).expect("the section that quotes");
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

/// All tables that the command has written: the cells of each row.
fn rows() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/simulation");
    let tables =
        fs::read_dir(folder).expect("the folder of the pictures").map(|file| file.expect("a file").path());
    let tables = tables.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let pages: Vec<String> = tables.map(|path| fs::read_to_string(path).expect("text")).collect();
    let text = read("docs/simulation.md") + &pages.concat();
    text.lines().filter(|line| line.starts_with("| ")).map(cells).collect()
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// What stands between backticks.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The numbers of a text as they are written, without the commas between thousands.
fn numbers(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let words = text.split(|c: char| !is_part(c)).map(|word| word.replace(',', ""));
    let words = words.map(|word| word.trim_end_matches('.').to_owned());
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect()
}

/// Whether a figure of the page is this one when it has as many digits after the point.
fn is_rounded(quoted: &str, figure: &str) -> bool {
    let digits = quoted.split_once('.').map_or(0, |(_, digits)| digits.len());
    let (Ok(quoted), Ok(figure)) = (quoted.parse::<f64>(), figure.parse::<f64>()) else { return false };
    // The page has rounded it before: a half may have been more or less.
    (quoted - figure).abs() <= 0.5 * 10_f64.powi(-(digits as i32)) + 1e-9
}

#[test]
fn each_figure_of_the_readmes_table_is_the_pages() {
    let (section, rows) = (section(), rows());
    let mut lines = section.lines().filter(|line| line.starts_with("| ")).map(cells);
    let heads = lines.next().expect("a table");
    let mut quoted = 0;
    for line in lines {
        let world = *names(&line[0]).last().expect("a row names its world");
        for (head, cell) in heads.iter().zip(&line).skip(2) {
            let design = names(head).first().copied().unwrap_or("ours");
            let row = rows.iter().find(|row| row.len() > 6 && row[..3] == [world, line[1].as_str(), design]);
            let row = row.unwrap_or_else(|| panic!("{design} in {world} at {} is not on the page", line[1]));
            let figures = [&row[3], &row[4], &row[6]].map(|cell| numbers(cell).remove(0));
            let told = numbers(&cell.replace(", ", "; "));
            assert_eq!(told.len(), 3, "efficiency, makespan and failed: {cell}");
            for (told, figure) in told.iter().zip(&figures) {
                assert!(
                    is_rounded(told, figure),
                    "{design} in {world}: {told} is quoted, and it is {figure}"
                );
                quoted += 1;
            }
        }
    }
    assert_eq!(quoted, 7 * 4 * 3);
}

#[test]
fn each_figure_that_the_readme_tells_of_a_loss_stands_beside_its_world_on_the_page() {
    let (section, rows) = (section(), rows());
    let losses: Vec<&str> = section.split("\n- ").skip(1).collect();
    assert!(losses.len() >= 4, "{losses:?}");
    for loss in losses {
        let loss = loss.split("\n\n").next().unwrap_or_default();
        let worlds = names(loss);
        assert!(!worlds.is_empty(), "no world is named: {loss}");
        let here = rows.iter().filter(|row| row[0].split(", ").any(|world| worlds.contains(&world)));
        let figures: Vec<String> = here.flat_map(|row| numbers(&row[1..].join("|"))).collect();
        let plain: String = loss.split('`').step_by(2).collect();
        for told in numbers(&plain.replace(", ", "; ")) {
            assert!(
                figures.iter().any(|figure| is_rounded(&told, figure)),
                "{told} is not told of {worlds:?}: {loss}"
            );
        }
    }
}

#[test]
fn as_many_gates_pass_as_the_readme_says() {
    let section = section();
    let told = section.split("All of its ").nth(1).and_then(|rest| rest.split(' ').next());
    let told = told.expect("how many gates there are");
    assert!(read("docs/simulation.md").contains(&format!("{told} of {told} passed.")), "{told}");
}
