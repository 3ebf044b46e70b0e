//! The main job: what it fetches, what it says, how it ends.

use crate::built::Folder;
use crate::program::example;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tower_egress::lab::{Behaviour, Lab, Mood, Provider, Reply};

fn fetch(args: &[&str]) -> Output {
    Command::new(example("fetch")).args(args).stdin(Stdio::null()).output().expect("the program runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn list(lab: &Lab) -> String {
    let spec = |exit: tower_egress::Exit| {
        let (route, login) = (exit.route(), exit.route().credential());
        let login = login.map_or_else(String::new, |login| format!(":{}:{}", login.user(), login.password()));
        format!("{}:{}{login}\n", route.host(), route.port())
    };
    lab.exits().iter().map(spec).collect()
}

#[test]
fn without_arguments_it_gets_every_page_of_the_lab_and_goes_never_direct() {
    let output = fetch(&[]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("400 of 400 fetched"), "{said}");
    assert!(said.contains(" 0 other addresses, 0 direct requests"), "{said}");
    let (_, rest) = said.split_once("attempts per success").expect("a row");
    let multiplier: f64 = rest.split_whitespace().next().expect("a figure").parse().expect("a number");
    assert!((1.0..=1.2).contains(&multiplier), "{said}");
}

#[test]
fn through_the_labs_gateway_it_gets_every_page_and_moves_on_from_refused_sessions() {
    for args in [&["--lab-gateway"][..], &["--lab-gateway", "--sessions", "40", "--hold", "600"]] {
        let output = fetch(args);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("400 of 400 fetched"), "{said}");
        assert!(said.contains(" 0 other addresses, 0 direct requests"), "{said}");
        assert!(
            said.contains("gateways ") && said.contains("blocked ") && said.contains(" 0 refused"),
            "{said}"
        );
        assert!(!said.contains(":pw"), "{said}");
    }
}

#[test]
fn through_every_kind_of_exit_it_gets_every_page_of_the_lab() {
    for via in ["https", "socks5h", "socks5"] {
        for lab in [&[][..], &["--lab-gateway"]] {
            let output = fetch(&[&["--via", via], lab].concat());
            let said = said(&output);
            assert_eq!(output.status.code(), Some(0), "{via}: {said}");
            assert!(said.contains("400 of 400 fetched"), "{via}: {said}");
            assert!(said.contains(" 0 other addresses, 0 direct requests"), "{via}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_gateways_and_a_list_it_uses_both() {
    let lab = Lab::builder().fine(4).gateway(Provider::sessions()).gateway(Provider::rotating());
    let lab = lab.start().await.expect("a lab");
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab)).display().to_string();
    let urls: String = (0..200).map(|page| format!("{}\n", lab.tls_url(&format!("/{page}")))).collect();
    let (urls, roots) = (folder.file("urls.txt", &urls), folder.file("ca.pem", lab.ca_pem()));
    let (urls, roots) = (urls.display().to_string(), roots.display().to_string());
    let [sessions, rotating] = [0, 1].map(|at| lab.gateways()[at].template());
    let args = ["--proxies", &proxies, "--gateway", &sessions, "--gateway", &rotating, "--sessions", "4"];
    let output =
        tokio::task::block_in_place(|| fetch(&[&args[..], &["--urls", &urls, "--roots", &roots]].concat()));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("200 of 200 fetched") && !said.contains(":pw"), "{said}");
    assert!(
        said.contains(&format!("{}, {}", lab.gateways()[0].address(), lab.gateways()[1].address())),
        "{said}"
    );
    let (sessions, rotating) = (&lab.gateways()[0], &lab.gateways()[1]);
    assert_eq!(sessions.sessions().len(), 4, "as many as there are slots");
    let (tunnels, passed) = (rotating.traffic(), rotating.passed());
    assert!(passed > 0 && tunnels.connections == passed, "a connection for each request: {tunnels:?}");
    let kept = sessions.traffic().connects;
    assert!(kept > 0 && (0..4).all(|exit| lab.exit(exit).traffic().connects > 0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_refuses_the_login_is_told_once_a_page_and_prints_no_secret() {
    let lab = Lab::builder().gateway(Provider::sessions().login("u-{session}", "secret"));
    let lab = lab.start().await.expect("a lab");
    lab.gateway().behave(Mood::login_refused()).expect("the lab runs");
    let (gateway, url) = (lab.gateway().template(), lab.url("/p"));
    let args = ["--gateway", &gateway, "--deadline", "5", &url];
    let output = tokio::task::block_in_place(|| fetch(&args));
    let (out, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), said(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(out.contains("auth_error") && said.contains("0 of 1 fetched"), "{out}{said}");
    assert!(!format!("{out}{said}").contains("secret"), "{out}{said}");
    assert_eq!(lab.gateway().passed(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn that_a_gateway_is_taken_to_rotate_is_said() {
    let lab = Lab::builder().gateway(Provider::rotating().login("u", "secret"));
    let lab = lab.start().await.expect("a lab");
    let (gateway, url) = (lab.gateway().template(), lab.url("/p"));
    let output = tokio::task::block_in_place(|| fetch(&["--gateway", &gateway, &url]));
    let (said, port) = (said(&output), lab.gateway().address().port());
    assert_eq!(output.status.code(), Some(0), "{said}");
    let told =
        format!("fetch: --gateway 1 has no {{session}} in its login, so 127.1.0.1 at port {port} is taken");
    assert!(said.starts_with(&told) && !said.contains("secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_list_and_urls_it_writes_a_line_a_page() {
    let lab = Lab::builder().fine(4).start().await.expect("a lab");
    lab.origin().page("/a", Reply::page("alpha"));
    lab.origin().page("/gone", Reply::new(http::StatusCode::NOT_FOUND));
    lab.origin().page("/no", Reply::new(http::StatusCode::BAD_REQUEST));
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab));
    let urls = folder.file("urls.txt", &format!("# pages\n{}\n\n{}\n", lab.tls_url("/a"), lab.url("/gone")));
    let (roots, out) = (folder.file("ca.pem", lab.ca_pem()), folder.path().join("out.jsonl"));
    fs::write(&out, "{\"kept\":true}").expect("an earlier result, whose newline was lost");

    let (proxies, urls, no) = (proxies.display().to_string(), urls.display().to_string(), lab.url("/no"));
    let (roots, path) = (roots.display().to_string(), out.display().to_string());
    let args = ["--proxies", &proxies, "--urls", &urls, "--roots", &roots, "--output", &path, "--body", &no];
    let output = tokio::task::block_in_place(|| fetch(&args));

    assert_eq!(output.status.code(), Some(1), "one page is not fetched: {}", said(&output));
    let lines = fs::read_to_string(&out).expect("results");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["kept"], true, "what was there stays");
    let of = |path: &str| {
        let ends = |line: &&serde_json::Value| line["url"].as_str().is_some_and(|url| url.ends_with(path));
        lines.iter().find(ends).expect("a line a page")
    };
    let a = of("/a");
    assert_eq!(
        (a["ok"].as_bool(), a["status"].as_u64(), a["body"].as_str()),
        (Some(true), Some(200), Some("alpha"))
    );
    assert_eq!((of("/gone")["ok"].as_bool(), of("/gone")["status"].as_u64()), (Some(true), Some(404)));
    assert_eq!((of("/no")["ok"].as_bool(), of("/no")["status"].as_u64()), (Some(false), Some(400)));
    assert!(lab.origin().peers().keys().all(|peer| lab.exit_at(*peer).is_some()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_from_standard_input_is_used_as_far_as_it_can_be_read() {
    let lab = Lab::builder().fine(2).start().await.expect("a lab");
    lab.origin().page("/a", Reply::page("alpha"));
    let text = format!("user:secret@\n{0}{0}gw.test:80 secret\n", list(&lab));
    let url = lab.url("/a");
    let output = tokio::task::block_in_place(|| {
        let mut program = Command::new(example("fetch"));
        program.args(["--proxies", "-", &url]).stdin(Stdio::piped());
        let mut program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        program.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        program.wait_with_output().expect("it ends")
    });
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for told in [
        "fetch: left out: standard input: line 1: proxy spec ",
        "fetch: left out: standard input: line 6: proxy spec holds white space",
        "fetch: counted once: standard input: line 4: proxy spec names an exit of line 2 again",
        "lines of this kind: 2\n",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let names_line = said.lines().any(|line| line.starts_with("most through") && line.contains(", line "));
    assert!(names_line && said.contains("exits                 2,") && !said.contains("secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_no_way_out_it_says_why_and_opens_no_connection_to_the_site() {
    let lab = Lab::builder().dead(2).start().await.expect("a lab");
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab)).display().to_string();
    // By the address of its socket: a client that went direct would reach it.
    let url = lab.direct_url("/a");
    let output = tokio::task::block_in_place(|| fetch(&["--proxies", &proxies, "--deadline", "2", &url]));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("exit connect failed") || said(&output).contains("no exit may serve"),
        "{}",
        said(&output)
    );
    assert_eq!(lab.origin().connections(), 0);
}

#[test]
fn bad_input_is_one_clear_line_with_file_and_line_and_no_secret() {
    let folder = Folder::new();
    let good = folder.file("good.txt", "127.0.0.1:1\n").display().to_string();
    let bad = folder.file("bad.txt", "# none\nuser:secret@\nnor secret this\n").display().to_string();
    let empty = folder.file("empty.txt", "# nothing\n").display().to_string();
    let urls = folder.file("urls.txt", "http://a.test/\nftp://secret@b.test/\n").display().to_string();
    let latin = folder.path().join("latin.txt");
    fs::write(&latin, b"http://a.test/\n# caf\xc3\xa9\nhttp://a.test/caf\xe9\n").expect("a file");
    let latin = latin.display().to_string();
    let url = "http://a.test/";
    for (args, expected) in [
        (vec!["--proxies", "no/such/file", url], "no/such/file: exit list cannot be read".to_owned()),
        (vec!["--proxies", &bad, url], format!("{bad}:2: proxy spec ")),
        (vec!["--proxies", &empty, url], format!("{empty}: exit list names no exit")),
        (vec!["--proxies", "-", url], "standard input: exit list names no exit".to_owned()),
        (vec!["--proxies", "-", "--urls", "-"], "cannot both read standard input".to_owned()),
        (vec!["--proxies", &good, "--urls", &urls], format!("{urls}:2: not an absolute http or https URL")),
        (vec!["--proxies", &good, "--urls", "no/urls"], "no/urls: cannot be read".to_owned()),
        (vec!["--proxies", &good], "no URL to fetch".to_owned()),
        (vec!["--proxies", &good, "a.test/secret"], "URL 1: ".to_owned()),
        (
            vec!["--proxies", &good, "--output", "no/such/folder/out", url],
            "no/such/folder/out: cannot be written".to_owned(),
        ),
        (vec!["--proxies", &good, "--roots", &empty, url], "holds no certificate".to_owned()),
        (vec!["--proxies", &good, "--roots", &empty, url], format!("--roots {empty}: ")),
        (vec!["--proxies", &good, "--roots", "no/ca", url], "--roots no/ca: cannot be read".to_owned()),
        (vec!["--proxies", &good, "--proxy-roots", &empty, url], format!("--proxy-roots {empty}: ")),
        (vec!["--proxies", &good, "--proxy-roots", "no/ca", url], "--proxy-roots no/ca: cannot".to_owned()),
        (vec!["--proxies", &good, "http://"], "URL 1: names no host".to_owned()),
        (vec!["--proxies", &good, "https:///secret"], "URL 1: names no host".to_owned()),
        (vec!["--proxies", &good, "http://:80/"], "URL 1: names no host".to_owned()),
        (vec!["--proxies", &good, "--urls", &latin], format!("{latin}:3: is not UTF-8")),
        (vec![url], "--proxies FILE, or --gateway URL".to_owned()),
        (vec!["--urls", &urls], "--proxies FILE, or --gateway URL".to_owned()),
        (vec!["--gateway", "http://u-{sesion}:secret@gw.test:1", url], "--gateway 1: gateway ".to_owned()),
        (vec!["--gateway", "gw.test:1", "--gateway", "secret@", url], "--gateway 2: proxy spec ".to_owned()),
        (
            vec!["--gateway", "http://u:secret@gw.test:1", "--hold", "60", url],
            "nothing can be held".to_owned(),
        ),
        (vec!["--gateway", "http://u-{session}:secret@gw.test:1"], "no URL to fetch".to_owned()),
        (vec!["--gateway", "gw.test:1", "--lab-gateway"], "--lab-gateway".to_owned()),
        (vec!["--proxies", &good, &urls], "URL 1: is a file; a file of URLs is read with --urls".to_owned()),
        (vec!["--sessions", "0"], "'--sessions <N>': 0 is not in 1..".to_owned()),
        (vec!["--concurrency", "0"], "--concurrency".to_owned()),
        (vec!["--failures", url], "'--failures' cannot be used with".to_owned()),
    ] {
        let output = fetch(&args);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(&expected), "{args:?}: {said}");
        assert!(!said.contains("secret") && !said.contains("panicked"), "{args:?}: {said}");
        let program_speaks = said.starts_with("fetch: ");
        assert!(!program_speaks || said.trim_end().lines().count() == 1, "{args:?}: {said}");
    }
}

#[test]
fn help_tells_the_options_and_the_exit_status() {
    let output = fetch(&["--help"]);
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("or results could not be written"));
    let failures = "a dead exit, a 403, a 429, a site that is down, one that limits each exit, parked requests, a gateway";
    assert!(words.contains(failures), "{words}");
    for word in [
        "--proxies",
        "--gateway",
        "--sessions",
        "--lab-gateway",
        "--failures",
        "--urls",
        "--output",
        "--concurrency",
        "--hold",
        "130 interrupted",
        "404 and 410",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_body_broke_is_asked_for_again() {
    let lab = Lab::builder().fine(8).start().await.expect("a lab");
    let asked = AtomicU32::new(0);
    lab.origin().respond(move |seen| {
        let page = Reply::page("price list");
        let whole = seen.path() == "/twice" && asked.fetch_add(1, Ordering::Relaxed) == 2;
        if whole { page } else { page.cut_after(4) }
    });
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab)).display().to_string();
    let (twice, always) = (lab.url("/twice"), lab.url("/always"));
    let args = ["--proxies", &proxies, "--concurrency", "1", "--body", &twice, &always];
    let output = tokio::task::block_in_place(|| fetch(&args));
    let out = String::from_utf8(output.stdout.clone()).expect("text");
    let pages: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((pages[0]["ok"].as_bool(), pages[0]["body"].as_str()), (Some(true), Some("price list")));
    let outcomes = |page: &serde_json::Value| {
        let attempts = page["attempts"].as_array().expect("attempts").clone();
        attempts
            .iter()
            .map(|attempt| attempt["outcome"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    let broken = "interrupted (answer body)";
    assert_eq!(outcomes(&pages[0]), [broken, broken, "ok"]);
    assert_eq!((pages[1]["ok"].as_bool(), pages[1]["bytes"].as_u64()), (Some(false), Some(4)));
    assert_eq!(outcomes(&pages[1]), [broken; 3], "at most two more times");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_wait_for_an_exit_is_told_where_there_is_no_terminal() {
    let lab = Lab::builder().fine(1).start().await.expect("a lab");
    // The first page learns too late that its exit must rest; the second finds it resting.
    let slow_down = Reply::new(http::StatusCode::TOO_MANY_REQUESTS).retry_after(Duration::from_secs(2));
    lab.origin().page("/first", slow_down.after(Duration::from_secs(1)));
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab)).display().to_string();
    let (first, second, third) = (lab.url("/first"), lab.url("/second"), lab.url("/third"));
    let pages = [first.as_str(), second.as_str(), third.as_str()];
    let args = [&["--proxies", &proxies, "--concurrency", "1", "--deadline", "3"], &pages[..]].concat();
    let output = tokio::task::block_in_place(|| fetch(&args));
    let said = said(&output);
    assert!(said.contains("2 of 3 fetched"), "{said}");
    assert_eq!(said.matches("fetch: no exit may serve now; pages waiting for one: 1").count(), 1, "{said}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_keeps_what_is_there() {
    for signal in ["-INT", "-TERM"] {
        stop_with(signal).await;
    }
}

#[cfg(unix)]
async fn stop_with(signal: &str) {
    let lab = Lab::builder().exits(2, Behaviour::fine()).start().await.expect("a lab");
    lab.origin().page("/hangs", Reply::hang());
    let folder = Folder::new();
    let proxies = folder.file("proxies.txt", &list(&lab)).display().to_string();
    let (quick, hangs) = (lab.url("/quick"), lab.url("/hangs"));
    let mut program = Command::new(tokio::task::block_in_place(|| example("fetch")))
        .args(["--proxies", &proxies, "--concurrency", "1", &quick, &hangs])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut out = program.stdout.take().expect("piped");
    let result = tokio::task::block_in_place(|| {
        // The first line comes while the second page hangs; then the interrupt.
        let mut line = Vec::new();
        let mut byte = [0];
        while out.read(&mut byte).expect("a pipe") == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        let pid = program.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
        (line, program.wait_with_output().expect("it ends"))
    });
    let first: serde_json::Value = serde_json::from_slice(&result.0).expect("a whole line");
    assert_eq!(first["url"], quick.as_str());
    assert_eq!(result.1.status.code(), Some(130), "{}", said(&result.1));
    assert!(said(&result.1).contains("1 of 2 fetched") && said(&result.1).contains("interrupted"));
}
