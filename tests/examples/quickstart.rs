//! The program of the README.

use crate::built::{Folder, example};
use std::fs;
use std::path::Path;
use std::process::Command;
use tower_egress::lab::{Lab, Reply};

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
async fn it_fetches_through_an_exit() {
    let lab = Lab::builder().site("shop.example").fine(3).dead(1).start().await.expect("a lab");
    lab.origin().page("/p/42", Reply::page("9.99"));
    let folder = Folder::new();
    let spec = |exit: &tower_egress::Exit| format!("{}:{}\n", exit.route().host(), exit.route().port());
    folder.file("proxies.txt", &lab.exits().iter().map(spec).collect::<String>());

    let program = example("quickstart");
    let output = Command::new(program).current_dir(folder.path()).output().expect("the program runs");

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("200 OK via "), "{output:?}");
    let seen = lab.origin().seen();
    assert_eq!(seen.iter().map(|request| request.path()).collect::<Vec<_>>(), ["/p/42"]);
    assert!(lab.exit_at(seen[0].peer()).is_some(), "not through an exit: {}", seen[0].peer());
}
