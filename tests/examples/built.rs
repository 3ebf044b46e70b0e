//! A changed example as an executable, and a folder to build it in.

use crate::program::build;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Builds a changed text of an example, with what cargo built for the example.
pub(crate) fn variant(name: &str, text: &str, folder: &Folder) -> PathBuf {
    let (source, program) = (folder.file("changed.rs", text), folder.path().join("changed"));
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(env!("CARGO_MANIFEST_DIR")).args(["--edition", "2024", "-o"]).arg(&program).arg(source);
    for message in build(name) {
        let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let library = files.into_iter().find(|file| file.ends_with(".rlib"));
        let (Some(library), Some(name)) = (library, message["target"]["name"].as_str()) else { continue };
        let folder = Path::new(library).parent().expect("a file is in a folder");
        rustc.arg("-L").arg(format!("dependency={}", folder.display()));
        if ["http", "tokio", "tower", "tower_egress", "tower-egress"].contains(&name) {
            rustc.arg("--extern").arg(format!("{}={library}", name.replace('-', "_")));
        }
    }
    assert!(rustc.status().expect("rustc runs").success(), "the changed program builds");
    program
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
