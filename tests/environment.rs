//! Proxies of the environment are ignored. Each test runs again in a process of its own, which has them.

#![cfg(all(feature = "client", feature = "lab"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use http::Request;
use std::net::TcpListener;
use std::process::Command;
use tower::{Layer as _, ServiceExt as _};
use tower_egress::exit::ProxyTls;
use tower_egress::lab::Lab;
use tower_egress::{Body, EgressLayer, Exit, ExitClient, ExitList, LeaseRequest, Scheduler, Served};

/// Set in the process that has the environment's proxies.
const INSIDE: &str = "EGRESS_TEST_HAS_PROXIES";
const PROXIES: [&str; 8] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "SOCKS_PROXY",
    "socks_proxy",
];

/// Runs a test of this program in a process of its own, in which the environment names a proxy and excludes all sites.
/// Whether this is that process.
fn with_proxies(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let sentinel = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    sentinel.set_nonblocking(true).unwrap();
    let proxy = format!("http://{}", sentinel.local_addr().unwrap());
    let mut inside = Command::new(std::env::current_exe().unwrap());
    inside.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    for name in PROXIES {
        inside.env(name, &proxy);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        inside.env(name, "*,127.0.0.0/8,10.0.0.0/8,example.test,shop.test,bar,bar.test");
    }
    let output = inside.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let asked = sentinel.accept();
    assert!(
        asked.is_err_and(|none| none.kind() == std::io::ErrorKind::WouldBlock),
        "the environment's proxy was asked"
    );
    false
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn te_052_the_environments_proxies_are_neither_asked_nor_obeyed() {
    if !with_proxies("te_052_the_environments_proxies_are_neither_asked_nor_obeyed") {
        return;
    }
    assert!(PROXIES.iter().all(|name| std::env::var_os(name).is_some()));
    runtime().block_on(async {
        let lab = Lab::builder().fine(2).start().await.unwrap();
        let scheduler = Scheduler::builder().exits(lab.exits()).build().unwrap();
        let client = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
        let stack = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(client);
        for url in [lab.url("/p"), lab.tls_url("/p"), lab.direct_url("/p")] {
            for _ in 0..4 {
                let request = Request::get(&url).body(Body::empty()).unwrap();
                assert_eq!(stack.clone().oneshot(request).await.unwrap().status(), 200);
            }
        }
        let peers = lab.origin().peers();
        assert_eq!(peers.len(), 2, "{peers:?}");
        assert!(peers.keys().all(|peer| lab.exit_at(*peer).is_some()), "NO_PROXY lets nobody past the exits");
        assert!(
            Scheduler::builder().build().is_err(),
            "nor does a proxy of the environment fill an empty pool"
        );
    });
}

/// The case asks how entries of a bypass list are matched. There is no such list, and no option for one: a list of names that
/// go direct is a way to forget one. An own address is an exit, for the pool or the site that is given it. So nothing matches,
/// whatever the environment says, an exact name and one of this machine included.
#[test]
fn te_124_there_is_no_bypass_list_so_nothing_goes_direct() {
    if !with_proxies("te_124_there_is_no_bypass_list_so_nothing_goes_direct") {
        return;
    }
    let hosts = ["foobar", "xbar.test", "a.bar.test", "bar.test", "localhost"];
    runtime().block_on(async {
        let sites = hosts.iter().fold(Lab::builder(), |lab, host| lab.site(*host));
        let lab = sites.fine(2).start().await.unwrap();
        let scheduler = Scheduler::builder().exits(lab.exits()).build().unwrap();
        let client = ExitClient::builder().build().unwrap();
        let stack = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(client);
        let by_address = lab.direct_url("/p");
        let by_name = hosts.iter().map(|host| format!("http://{host}/p"));
        for url in by_name.chain([by_address]) {
            let request = Request::get(&url).body(Body::empty()).unwrap();
            let response = stack.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), 200, "{url}");
            let exit = response.extensions().get::<Served>().unwrap().exit();
            assert!(lab.exits().iter().any(|known| known.id() == exit), "{url}");
        }
        let seen = lab.origin().seen();
        assert!(seen.len() >= 2 && seen.iter().all(|seen| lab.exit_at(seen.peer()).is_some()));
    });
}

/// Names are not looked up here to see whether they are excluded: a resolver that knows no name is asked for none.
#[test]
fn te_092_no_name_is_looked_up_for_the_environments_exclusions() {
    if !with_proxies("te_092_no_name_is_looked_up_for_the_environments_exclusions") {
        return;
    }
    runtime().block_on(async {
        let lab = Lab::builder().site("secret.test").fine(1).start().await.unwrap();
        let (tell, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let resolver = move |name: String| {
            let _ = tell.send(name);
            async { Err(std::io::ErrorKind::NotFound.into()) }
        };
        let client =
            ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).resolver(resolver).build().unwrap();
        for url in [lab.url("/p"), lab.tls_url("/p")] {
            let mut request = Request::get(url).body(Body::empty()).unwrap();
            request.extensions_mut().insert(lab.exit(0).exit().route().clone());
            assert_eq!(client.clone().oneshot(request).await.unwrap().status(), 200);
        }
        // A SOCKS exit that takes names is asked with the name, and nobody else is: it does not answer.
        let socks = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let exit = Exit::parse(&format!("socks5h://{}", socks.local_addr().unwrap())).unwrap();
        for url in ["http://secret.test/", "https://secret.test/"] {
            let mut request = Request::get(url).body(Body::empty()).unwrap();
            request.extensions_mut().insert(exit.route().clone());
            let call = tokio::spawn(client.clone().oneshot(request));
            drop(socks.accept().await.unwrap());
            assert!(call.await.unwrap().is_err());
        }
        assert!(asked.try_recv().is_err());
    });
}

#[test]
fn te_052_an_own_address_and_tls_to_a_proxy_ignore_them_as_well() {
    if !with_proxies("te_052_an_own_address_and_tls_to_a_proxy_ignore_them_as_well") {
        return;
    }
    runtime().block_on(async {
        let lab = Lab::builder().fine(1).start().await.unwrap();
        let own = ExitList::from_iter([Exit::local([127, 0, 0, 5].into())]);
        let scheduler = Scheduler::builder().exits(own).build().unwrap();
        let tls = ProxyTls::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
        let client = ExitClient::builder().proxy_tls(&tls).build().unwrap();
        let stack = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(client);
        let request = Request::get(lab.direct_url("/p")).body(Body::empty()).unwrap();
        assert_eq!(stack.oneshot(request).await.unwrap().status(), 200);
        assert_eq!(lab.origin().seen()[0].peer(), std::net::IpAddr::from([127, 0, 0, 5]));
    });
}
