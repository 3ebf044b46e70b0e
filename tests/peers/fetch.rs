//! `examples/fetch`, run as a program through each peer.

use crate::daemon::{Folder, address};
use crate::nginx::{BIG, Nginx};
use crate::pki::Authority;
use crate::program::example;
use crate::proxy::{LOGIN, Proxy};
use crate::{dante, microsocks, squid, tinyproxy};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The program, built once for all of them.
static FETCH: LazyLock<PathBuf> = LazyLock::new(|| example("fetch"));
/// Pages of each of the four kinds.
const PAGES: usize = 10;

/// Pages plain and with TLS, by address and by name, and a big one: all 200, all through the proxy.
fn fetches_every_page(nginx: &Nginx, proxy: &Proxy, login: &str) {
    let folder = Folder::new();
    let (plain, tls) = (nginx.plain_port(), nginx.tls_port());
    let named =
        |page| [format!("http://localhost:{plain}/{page}"), format!("https://localhost:{tls}/{page}")];
    let by_address = |page| [nginx.plain(&format!("/{page}")), nginx.tls(&format!("/{page}"))];
    let pages = (0..PAGES).flat_map(|page| named(page).into_iter().chain(by_address(page)));
    let urls: Vec<String> = pages.chain([nginx.plain("/big"), nginx.tls("/big")]).collect();
    let (proxies, list) =
        (folder.file("proxies.txt", &proxy.spec(login)), folder.file("urls.txt", &urls.join("\n")));
    let roots = folder.file("roots.pem", nginx.roots());
    let proxy_roots = proxy.roots.as_ref().map(|pem| folder.file("proxies.pem", pem));
    let output = Command::new(&*FETCH)
        .args(["--proxies", &proxies, "--roots", &roots, "--urls", &list])
        .args(proxy_roots.iter().flat_map(|path| ["--proxy-roots", path]))
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("{0} of {0} fetched", urls.len())), "{said}");
    let text = String::from_utf8(output.stdout).expect("JSON lines");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().all(|line| line["status"] == 200), "{text}");
    let big = lines.iter().filter(|line| line["bytes"] == BIG).count();
    assert_eq!((lines.len(), big), (urls.len(), 2), "{text}");
    assert_eq!(nginx.asked_by(proxy.exit()).len(), urls.len(), "each page is asked for once");
    assert!(!format!("{said}{text}").contains("secret"), "{said}{text}");
}

#[test]
fn fetch_gets_every_page_through_tinyproxy() {
    let nginx = Nginx::start();
    let proxy = tinyproxy::start(&[nginx.tls_port()]);
    fetches_every_page(&nginx, &proxy, LOGIN);
}

#[test]
fn fetch_gets_every_page_through_squid() {
    let nginx = Nginx::start();
    let proxy = squid::start(&nginx, &[]);
    fetches_every_page(&nginx, &proxy, LOGIN);
}

#[test]
fn fetch_gets_every_page_through_dante() {
    let nginx = Nginx::start();
    let proxy = dante::start(address());
    fetches_every_page(&nginx, &proxy, "");
}

#[test]
fn fetch_gets_every_page_through_microsocks() {
    let nginx = Nginx::start();
    let proxy = microsocks::start();
    fetches_every_page(&nginx, &proxy, LOGIN);
}

#[test]
fn fetch_gets_every_page_through_squid_behind_tls() {
    let nginx = Nginx::start();
    let proxy = squid::start_with_tls(&nginx, &Authority::new(), false);
    fetches_every_page(&nginx, &proxy, LOGIN);
}
