//! The program of the README.

use crate::built::{Folder, variant};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tower_egress::lab::{Lab, Provider, Reply};

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("the project has it")
}

#[test]
fn the_readme_shows_it() {
    let example = file("examples/quickstart.rs");
    let (_, program) = example.split_once("\n\n").expect("a head line");
    assert!(
        file("README.md").contains(&format!("```rust,no_run\n{program}```")),
        "README and example differ"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn it_fetches_through_a_gateway() {
    let lab = Lab::builder().site("shop.example").gateway(Provider::sessions());
    let lab = lab.start().await.expect("a lab");
    lab.origin().page("/p/42", Reply::page("9.99"));
    let template = lab.gateway().template();
    let output = run(|program| program.replace(GATEWAY, &format!(".gateway(Gateway::parse({template:?})?)")));

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("200 OK via "), "{output:?}");
    let seen = lab.origin().seen();
    assert_eq!(seen.iter().map(|request| request.path()).collect::<Vec<_>>(), ["/p/42"]);
    assert!(lab.gateway().owns(seen[0].peer()), "not through the gateway: {}", seen[0].peer());
}

#[tokio::test(flavor = "multi_thread")]
async fn its_other_line_fetches_through_a_list() {
    let lab = Lab::builder().site("shop.example").fine(3).dead(1).start().await.expect("a lab");
    lab.origin().page("/p/42", Reply::page("9.99"));
    let folder = Folder::new();
    let spec = |exit: tower_egress::Exit| format!("{}:{}\n", exit.route().host(), exit.route().port());
    let list = folder.file("proxies.txt", &lab.exits().iter().map(spec).collect::<String>());
    let list = list.to_str().expect("a path in UTF-8");
    let output = run(|program| {
        let exits = LIST.replace("\"proxies.txt\"", &format!("{list:?}"));
        program.replace("Gateway, LeaseLayer", "ExitList, LeaseLayer").replace(GATEWAY, &exits)
    });
    assert!(output.status.success(), "{output:?}");
    assert!(lab.origin().seen().iter().all(|seen| lab.exit_at(seen.peer()).is_some()));
    assert_eq!(lab.origin().requests(), 1);
}

const GATEWAY: &str = ".gateway(Gateway::parse(\"http://user-{session}:pw@gw.example:7000\")?)";
const LIST: &str = ".exits(ExitList::from_path(\"proxies.txt\")?)";

/// Runs the program with another way out: the one it shows is nobody's.
fn run(change: impl FnOnce(&str) -> String) -> Output {
    let program = file("examples/quickstart.rs");
    assert!(program.contains(&format!("{GATEWAY} // or {LIST}\n")), "the program shows both");
    let folder = Folder::new();
    tokio::task::block_in_place(|| {
        let program = variant("quickstart", &change(&program), &folder);
        Command::new(program).output().expect("the program runs")
    })
}
