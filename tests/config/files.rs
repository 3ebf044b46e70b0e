//! Files: what is relative to what, and what an error points to.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tower_egress::Config;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tower-egress-config-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("lists")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn paths_are_relative_to_the_file_and_not_to_where_the_program_was_started() {
    let folder = Folder::new();
    folder.file("lists/dc.txt", "203.0.113.7:8080\n203.0.113.8:8080\n");
    folder.file("lists/spec", "http://u:hunter2@203.0.113.9:8080\n");
    let text = "[[pool]]\nname = 'dc'\nproxies = 'lists/dc.txt'\n[[pool]]\nname = 'b'\nproxies = [{ file = 'lists/spec' }]";
    let config = Config::from_path(folder.file("egress.toml", text)).unwrap();
    let counts: Vec<_> = config.pools().iter().map(|pool| (pool.name(), pool.exits().len())).collect();
    assert_eq!(counts, [("dc", 2), ("b", 1)]);
    let login =
        config.pools()[1].exits().iter().next().unwrap().route().credential().unwrap().password().to_owned();
    assert_eq!((login.as_str(), config.warnings().len()), ("hunter2", 0));
    assert!(!format!("{config}{config:?}").contains("hunter2"));
}

#[test]
fn an_error_names_the_file_that_is_wrong() {
    let folder = Folder::new();
    folder.file("lists/empty.txt", "# nothing\n");
    folder.file("lists/latin.txt", b"203.0.113.7:8080\n# caf\xe9\n");
    folder.file("lists/large.toml", vec![b'#'; (1 << 20) + 1]);
    let name = |name: &str| folder.0.join(name).display().to_string();
    let own = name("egress.toml");
    let list = |list: &str| format!("\n[[pool]]\nname = 'dc'\nproxies = '{list}'\nstrict = true\n");
    for (text, expected) in [
        (
            list("lists/none.txt"),
            format!("{own}:4: pool[0].proxies names {}: exit list cannot be read: ", name("lists/none.txt")),
        ),
        (
            list("lists/empty.txt"),
            format!("{own}:4: pool[0].proxies names {}: exit list names no exit; ", name("lists/empty.txt")),
        ),
        (list("lists/latin.txt"), format!("{}:2: exit list is not UTF-8; ", name("lists/latin.txt"))),
        (
            "[[pool]]\nname = 'dc'\nproxies = [{ file = 'lists/latin.txt' }]".into(),
            format!("{own}:3: pool[0].proxies[0] names {}, which is not UTF-8; ", name("lists/latin.txt")),
        ),
        (
            "[[pool]]\nname = 'dc'\nproxies = [{ file = 'lists/large.toml' }]".into(),
            format!(
                "{own}:3: pool[0].proxies[0] names {}, which cannot be read: it is larger",
                name("lists/large.toml")
            ),
        ),
        ("weight = 1".into(), format!("{own}:1: config has no key `weight`; known are ")),
    ] {
        let error = Config::from_path(folder.file("egress.toml", &text)).expect_err(&text).to_string();
        assert!(error.starts_with(&expected), "{text}\n  is: {error}\nnot: {expected}");
    }
    let none = Config::from_path(folder.0.join("none.toml")).unwrap_err().to_string();
    assert!(none.starts_with(&format!("{}: config cannot be read: ", name("none.toml"))), "{none}");
    let latin = Config::from_path(folder.file("latin.toml", b"\n# caf\xe9\n")).unwrap_err().to_string();
    assert!(latin.starts_with(&format!("{}:2: config is not UTF-8; ", name("latin.toml"))), "{latin}");
}

#[cfg(feature = "client")]
#[test]
fn certificates_are_files_too() {
    let folder = Folder::new();
    folder.file("no.pem", "hunter2");
    let own = folder.0.join("egress.toml").display().to_string();
    let pool = "[[pool]]\nname = 'a'\nproxies = ['https://a.test:1']\n[pool.proxy_tls]\n";
    for (text, expected) in [
        ("[client]\nroots = 'no.pem'".into(), "2: client.roots holds no certificate; "),
        ("[client]\nroots = 'none.pem'".into(), "2: client.roots names "),
        ("[client.proxy_tls]\nroots = 'no.pem'".into(), "2: client.proxy_tls.roots holds no certificate; "),
        (
            format!("{pool}identity = {{ chain = 'no.pem', key = 'no.pem' }}"),
            "5: pool[0].proxy_tls.identity has a chain without a certificate; ",
        ),
        (
            format!("{pool}identity = {{ chain = 'no.pem' }}"),
            "5: pool[0].proxy_tls.identity has no `key`; add it",
        ),
        (format!("{pool}server_name = 'a b'"), "5: pool[0].proxy_tls.server_name is no name; "),
    ] {
        let error = Config::from_path(folder.file("egress.toml", &text)).expect_err(&text).to_string();
        assert!(error.starts_with(&format!("{own}:{expected}")), "{text}\n  is: {error}\nnot: {expected}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
