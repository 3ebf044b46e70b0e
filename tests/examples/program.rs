//! An example as an executable, built if it is not.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How the names begin of the variables that cargo sets for a test alone.
const SAID_TO_TESTS: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// Where cargo put the example.
pub(crate) fn example(name: &str) -> PathBuf {
    let of_example = |message: &Value| message["target"]["name"] == name && message["executable"].is_string();
    let messages = build(name);
    let message = messages.iter().find(|message| of_example(message)).expect("the example builds");
    PathBuf::from(message["executable"].as_str().expect("a path"))
}

/// What cargo says of an example and all that it needs.
pub(crate) fn build(name: &str) -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo says of the package to a test would reach the build scripts, and some are run again for it.
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(|name| SAID_TO_TESTS.iter().any(|said| name.starts_with(said))) {
            cargo.env_remove(variable);
        }
    }
    let output = cargo
        .args(["build", "--locked", "--all-features", "--message-format=json", "--example", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8(output.stdout).expect("JSON lines");
    said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
