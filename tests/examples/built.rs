//! An example as an executable, built if it is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where cargo put the example.
pub(crate) fn example(name: &str) -> PathBuf {
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--all-features", "--message-format=json", "--example", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    let built = String::from_utf8(cargo.stdout).expect("JSON lines");
    let target = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let of_example =
        |message: &serde_json::Value| message["target"]["name"] == name && message["executable"].is_string();
    let message = built.lines().filter_map(target).find(of_example).expect("the example builds");
    PathBuf::from(message["executable"].as_str().expect("a path"))
}

/// A folder for one test, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tower-egress-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
