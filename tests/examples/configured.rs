//! A run that a configuration file describes: what it says of the file, what it fetches, and what a hang-up changes.

use crate::built::Folder;
use crate::program::example;
#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::ops::Range;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Output, Stdio};
#[cfg(unix)]
use std::time::Duration;
#[cfg(unix)]
use tower_egress::lab::{Lab, Reply};

/// What nothing may print.
const SECRET: &str = "hunter2";

fn fetch(args: &[&str]) -> Output {
    let mut fetch = Command::new(example("fetch"));
    fetch.env("RESI_TEMPLATE", format!("http://u-{{session}}:{SECRET}@gw.example:7000"));
    fetch.env_remove("NOT_SET").args(args).stdin(Stdio::null()).output().expect("the program runs")
}

/// What it printed, results first.
fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(!out.contains(SECRET) && !said.contains(SECRET) && !said.contains("panicked"), "{out}{said}");
    (out, said)
}

const POOLS: &str = r#"
[[pool]]
name = "dc"
proxies = "dc.txt"
kind = "datacenter"
price_per_gb = 0.5

[[pool]]
name = "resi"
country = "US"
[pool.gateway]
template = { env = "RESI_TEMPLATE" }

[[site]]
origin = "shop.example"
pools = ["dc", "resi"]
"#;

#[test]
fn check_says_what_the_file_means() {
    let folder = Folder::new();
    folder.file("dc.txt", "203.0.113.7:8080\n203.0.113.8:8080\n");
    let path = folder.file("egress.toml", POOLS).display().to_string();
    let output = fetch(&["--config", &path, "--check"]);
    let (out, said) = printed(&output);
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{out}");
    assert_eq!(
        out,
        "pool dc               2 exits, kind datacenter, 0.5 per GB\n\
         pool resi             gateway gw.example:7000 (256 sessions), country us\n\
         site shop.example     dc, then resi\n"
    );
}

#[test]
fn the_example_is_checked_by_the_command_it_shows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/egress.toml");
    let text = std::fs::read_to_string(path).expect("a file");
    let shown: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#     export ")).collect();
    let set: Vec<_> =
        shown.iter().flat_map(|line| line.split(' ')).filter_map(|set| set.split_once('=')).collect();
    assert_eq!(set.len(), 3, "{shown:?}");
    let mut check = Command::new(example("fetch"));
    check.args(["--config", path, "--check"]).stdin(Stdio::null());
    let output = check.envs(set.iter().map(|(name, value)| (name, value.trim_matches('\'')))).output();
    let (out, said) = printed(&output.expect("the program runs"));
    assert!(
        said.is_empty() && out.contains("gateway oxylabs at pr.oxylabs.io:7777 (64 sessions, "),
        "{out}{said}"
    );
}

#[test]
fn check_warns_of_secrets_in_the_file() {
    let folder = Folder::new();
    let text = format!("[[pool]]\nname = \"dc\"\nproxies = [\"http://u:{SECRET}@203.0.113.7:8080\"]\n");
    let path = folder.file("egress.toml", &text).display().to_string();
    let output = fetch(&["--config", &path, "--check"]);
    let (out, said) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let warning =
        format!("fetch: warning: {path}:3: pool[0].proxies[0] is a secret in the file; take it from ");
    assert!(said.starts_with(&warning) && said.lines().count() == 1, "{said}");
    assert_eq!(out, "pool dc               1 exit\n");
}

#[test]
fn what_cannot_be_used_is_one_line_with_file_and_line() {
    let folder = Folder::new();
    let path = folder.path().join("egress.toml").display().to_string();
    for (text, expected) in [
        (
            format!("[[pool]]\nname = 'dc'\nproxys = '{SECRET}'"),
            ":3: pool[0] has no key `proxys`; did you mean `proxies`?",
        ),
        (format!("[[pool]]\nname = 'dc'\nproxies = '{SECRET}"), ":3: config is not TOML: "),
        (
            "[[pool]]\nname = 'dc'\nproxies = [{ env = 'NOT_SET' }]".into(),
            ":3: pool[0].proxies[0] names the variable NOT_SET, which is not set; ",
        ),
        (format!("[retry]\nmax_attempts = '{SECRET}'"), ":2: retry.max_attempts is not a whole number "),
        (String::new(), "egress.toml: names no pool; add a [[pool]]"),
    ] {
        folder.file("egress.toml", &text);
        for args in [&["--config", &path, "--check"][..], &["--config", &path, "http://shop.example/"]] {
            let output = fetch(args);
            let (out, said) = printed(&output);
            assert!(said.contains(expected) && said.starts_with("fetch: "), "{text}: {said}");
            assert_eq!((said.lines().count(), out.as_str()), (1, ""), "{said}");
            // To check a file is the whole job; else it is bad input to another.
            assert_eq!(
                output.status.code(),
                Some(if args.len() == 3 && args[2] == "--check" { 1 } else { 2 })
            );
        }
    }
    for (args, expected) in [
        (&["--check"][..], "--config"),
        (&["--config", &path, "--proxies", &path], "cannot be used with"),
        (&["--config", &path, "--hold", "3"], "cannot be used with"),
        (&["--config", &path, "--check", "http://shop.example/"], "cannot be used with"),
    ] {
        let output = fetch(args);
        assert!(
            output.status.code() == Some(2) && printed(&output).1.contains(expected),
            "{:?}",
            printed(&output)
        );
    }
}

/// A fetch that runs, and the file that it talks into.
#[cfg(unix)]
struct Running {
    program: Child,
    said: PathBuf,
}

#[cfg(unix)]
impl Running {
    /// Fetches pages of a lab's site, a few at a time.
    fn start(folder: &Folder, lab: &Lab) -> Self {
        let urls: String =
            (0..20_000).map(|page| format!("{}\n", lab.tls_url(&format!("/p/{page}")))).collect();
        let (urls, said) = (folder.file("urls.txt", &urls), folder.file("said.txt", ""));
        let mut fetch = Command::new(example("fetch"));
        fetch.arg("--config").arg(folder.path().join("egress.toml")).arg("--urls").arg(urls);
        fetch.args(["--concurrency", "2"]).stdin(Stdio::null()).stdout(Stdio::null());
        let program = fetch.stderr(File::create(&said).expect("a file")).spawn().expect("the program runs");
        Self { program, said }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).expect("a file")
    }

    /// Waits until something has happened, or says what it was that did not.
    async fn until(&self, what: &str, happened: impl Fn() -> bool) {
        // A refused exit rests for 10 s and up to a quarter more.
        for _ in 0..4_500 {
            if happened() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what} did not happen in 90 s; it said:\n{}", self.said());
    }

    fn signal(&self, name: &str) {
        let pid = self.program.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs").success());
    }
}

#[cfg(unix)]
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// A lab of cheap exits, dear ones and a spare one, and its file.
#[cfg(unix)]
async fn two_pools(folder: &Folder) -> Lab {
    let lab = Lab::builder().fine(5).start().await.expect("a lab");
    lab.origin().respond(|seen| Reply::page(seen.path().to_owned()).after(Duration::from_millis(2)));
    folder.file("ca.pem", lab.ca_pem());
    folder.file("cheap.txt", &specs(&lab, 0..2));
    folder.file("dear.txt", &specs(&lab, 2..4));
    folder.file(
        "egress.toml",
        &format!(
            "[[pool]]\nname = 'cheap'\nproxies = 'cheap.txt'\n[[pool]]\nname = 'dear'\nproxies = 'dear.txt'\n\
             [[site]]\norigin = '{}'\npools = ['cheap', 'dear']\nquiet = '1s'\n\
             [request]\ngranularity = 'per_request'\n[client]\nroots = 'ca.pem'\n",
            origin(&lab)
        ),
    );
    lab
}

#[cfg(unix)]
fn origin(lab: &Lab) -> String {
    let url: http::Uri = lab.tls_url("/").parse().expect("a URL");
    let authority = url.authority().expect("with a host");
    authority.as_str().strip_suffix(":443").unwrap_or(authority.as_str()).to_owned()
}

#[cfg(unix)]
fn specs(lab: &Lab, exits: Range<usize>) -> String {
    let spec = |at: usize| {
        let exit = lab.exit(at).exit();
        let (route, login) = (exit.route(), exit.route().credential());
        let login = login.map_or_else(String::new, |login| format!(":{}:{}", login.user(), login.password()));
        format!("{}:{}{login}\n", route.host(), route.port())
    };
    exits.map(spec).collect()
}

/// How many of the last requests went through these exits.
#[cfg(unix)]
fn lately(lab: &Lab, last: usize, exits: Range<usize>) -> usize {
    let sources: Vec<_> = exits.map(|at| lab.exit(at).source()).collect();
    lab.origin().seen().iter().rev().take(last).filter(|seen| sources.contains(&seen.peer())).count()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn it_goes_to_the_dear_pool_while_the_cheap_one_is_refused_and_comes_back() {
    let folder = Folder::new();
    let lab = two_pools(&folder).await;
    let run = Running::start(&folder, &lab);
    run.until("work through the cheap pool", || lately(&lab, 50, 0..2) == 50).await;
    assert_eq!(lately(&lab, usize::MAX, 2..4), 0, "the dear pool was left alone");
    (0..2).for_each(|at| lab.origin().ban(lab.exit(at).source()));
    run.until("work through the dear pool", || lately(&lab, 50, 2..4) == 50).await;
    (0..2).for_each(|at| lab.origin().pardon(lab.exit(at).source()));
    run.until("the way back to the cheap pool", || lately(&lab, 50, 0..2) == 50).await;
    assert!(lab.origin().peers().keys().all(|peer| lab.exit_at(*peer).is_some()), "nothing went direct");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_hang_up_reads_the_file_again_and_a_broken_one_changes_nothing() {
    let folder = Folder::new();
    let lab = two_pools(&folder).await;
    let run = Running::start(&folder, &lab);
    run.until("work through the cheap pool", || lately(&lab, 50, 0..2) == 50).await;

    let refusals = || run.said().matches("not reloaded, all goes on as before: ").count();
    folder.file("cheap.txt", &format!("user:{SECRET}@\n"));
    run.signal("HUP");
    run.until("the refusal", || refusals() == 1).await;
    // A line that was broken meanwhile retires no exit.
    folder.file("cheap.txt", &format!("{}user:{SECRET}@\n", specs(&lab, 0..1)));
    run.signal("HUP");
    run.until("another refusal", || refusals() == 2 && run.said().contains("cheap.txt:2: ")).await;
    let file = folder.path().join("egress.toml");
    let text = std::fs::read_to_string(&file).expect("a file");
    folder.file("egress.toml", "");
    run.signal("HUP");
    run.until("a third one", || run.said().contains("egress.toml: names no pool; add a [[pool]]")).await;
    folder.file("egress.toml", &text.replace("'per_request'", "'per_request'\ndeadline = '9s'"));
    let before = lab.origin().requests();
    run.until("more work", || lab.origin().requests() > before + 50).await;
    assert_eq!(lately(&lab, 50, 0..2), 50, "as before");

    folder.file("cheap.txt", &format!("{}{}", specs(&lab, 1..2), specs(&lab, 4..5)));
    run.signal("HUP");
    run.until("the reload", || run.said().contains("egress.toml: exits: 1 added, 3 kept, 1 removed")).await;
    run.until("work through the new exit", || lately(&lab, 50, 4..5) > 0).await;
    // What was under way has ended by now.
    let before = lab.origin().requests();
    run.until("more work", || lab.origin().requests() > before + 100).await;
    let through = [0..1, 1..2, 2..4, 4..5].map(|exits| lately(&lab, 50, exits) > 0);
    assert_eq!(through, [false, true, false, true], "the old cheap one and the new");
    assert!(
        run.said().contains("not taken over, since it holds from the start: [request]; "),
        "{}",
        run.said()
    );
    run.signal("INT");
    run.until("the summary", || run.said().contains("bytes billed") && run.said().contains("most through"))
        .await;
    let said = run.said();
    assert!(!said.contains(SECRET) && !said.contains("a gateway's"), "{said}");
    for row in ["  pool cheap          2 exits, ", "  pool dear           2 exits, 0 leases, 0 bytes"] {
        assert!(said.contains(row), "{said}");
    }
}
