//! squid: ACLs by port and name, names from a file of its own, and 503 for whatever it cannot reach.

use crate::daemon::{Daemon, Folder, address, port};
use crate::half::shows_a_broken_body;
use crate::nginx::{NAME, Nginx};
use crate::pki::Authority;
use crate::proxy::{Case, LOGIN, Place, Proxy, WRONG, carries_everything, check, tells_the_sites_refusals};
use crate::through::Through;
use std::os::unix::fs::MetadataExt as _;
use tower_egress::exit::ProxyTls;
use tower_egress::outcome::{AuthReason, Phase};
use tower_egress::{ExitClient, ExitList, Outcome};

/// Answers squid's questions for logins: one line each, user and password.
const LOGINS: &str = r#"while read -r login; do [ "$login" = "user secret" ] && echo OK || echo ERR; done"#;

/// A squid that tunnels to the site's port with TLS and to these.
pub(crate) fn start(nginx: &Nginx, ports: &[u16]) -> Proxy {
    let (folder, place) = (Folder::new(), Place::new());
    let port = format!("http_port {}", place.listen);
    Proxy { _daemon: squid(nginx, ports, folder, place, &port), place, scheme: "http", roots: None }
}

/// The same behind TLS, and whom it takes as its client besides: nobody, or whoever has a certificate of its authority's.
pub(crate) fn start_with_tls(nginx: &Nginx, authority: &Authority, asks: bool) -> Proxy {
    let (folder, place) = (Folder::new(), Place::new());
    let (certificate, key) = authority.certificate(&[place.listen.ip().to_string()]);
    let (certificate, key) = (folder.file("squid.pem", &certificate), folder.file("squid.key", &key));
    let asks =
        if asks { format!("clientca={}", folder.file("clients.pem", &authority.pem)) } else { String::new() };
    let port = format!("https_port {} tls-cert={certificate} tls-key={key} {asks}", place.listen);
    let daemon = squid(nginx, &[], folder, place, &port);
    Proxy { _daemon: daemon, place, scheme: "https", roots: Some(authority.pem.clone()) }
}

fn squid(nginx: &Nginx, ports: &[u16], folder: Folder, place: Place, port: &str) -> Daemon {
    let hosts = folder.file("hosts", &format!("127.0.0.1 localhost\n{} {NAME}\n", nginx.ip()));
    let logins = folder.file("logins", LOGINS);
    let tunnels: String = ports.iter().map(|port| format!("{port} ")).collect();
    let (listen, exit, silent) = (place.listen, place.exit, address());
    let tls = nginx.tls_port();
    // It will not run as root, and says so only then.
    let is_root = folder.path().metadata().unwrap().uid() == 0;
    let user = if is_root { "cache_effective_user proxy" } else { "" };
    let config = format!(
        "
{port}
tcp_outgoing_address {exit}
hosts_file {hosts}
# Nobody listens there: what is not in the file is no name.
dns_nameservers {silent}
dns_timeout 1 second
dns_retransmit_interval 1 second
auth_param basic program /bin/sh {logins}
auth_param basic children 1
acl login proxy_auth REQUIRED
acl denied dstdomain -n denied.test
acl SSL_ports port {tls} {tunnels}
acl Safe_ports port 80 443 1025-65535
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access deny denied
http_access allow login
http_access deny all
cache deny all
cache_mem 0
access_log none
cache_log /dev/null
coredump_dir none
shutdown_lifetime 0 seconds
pid_filename none
pinger_enable off
visible_hostname squid.test
{user}
"
    );
    let configured = folder.file("squid.conf", &config);
    // Each squid of a machine has a name, by which it shares memory with its own.
    let name: String = listen.to_string().chars().filter(char::is_ascii_digit).collect();
    let args = ["-N", "-n", &format!("peer{name}"), "-d", "1", "-f", &configured];
    Daemon::start(("squid", "squid-openssl"), &args, folder, &[listen])
}

#[tokio::test]
async fn squid_carries_everything_once_and_from_its_own_address() {
    let nginx = Nginx::start();
    let proxy = start(&nginx, &[]);
    carries_everything(&nginx, &proxy, LOGIN).await;
    tells_the_sites_refusals(&nginx, &proxy, LOGIN).await;
    shows_a_broken_body(&nginx, &proxy, LOGIN).await;
    // A name that only the proxy knows.
    let through = Through::exit(proxy.listed(LOGIN), nginx.roots());
    for url in
        [format!("http://{NAME}:{}/", nginx.plain_port()), format!("https://{NAME}:{}/", nginx.tls_port())]
    {
        let came = through.get(&url).await;
        assert_eq!((came.status(), came.outcome), (Some(200), Outcome::Ok), "{url}: {:?}", came.answer);
        assert_eq!(nginx.asked_by(proxy.exit()).len(), 1, "{url}");
    }
}

#[tokio::test]
async fn squid_itself_asks_a_site_again_that_closes_and_says_502() {
    let nginx = Nginx::start();
    let proxy = start(&nginx, &[]);
    let through = Through::exit(proxy.listed(LOGIN), nginx.roots());
    let came = through.get(&nginx.plain("/close")).await;
    let bad_gateway = Outcome::Interrupted { phase: Phase::Head };
    assert_eq!((came.status(), came.outcome), (Some(502), bad_gateway));
    let asked = nginx.asked_by(proxy.exit());
    assert!(!asked.is_empty() && asked.iter().all(|line| line == "GET HTTP/1.1 http /close -"), "{asked:?}");
    let came = through.post(&nginx.plain("/close"), "one-shirt").await;
    assert_eq!((came.status(), came.outcome), (Some(502), bad_gateway));
    assert_eq!(nginx.asked_by(proxy.exit()), ["POST HTTP/1.1 http /close -"], "never twice");
}

#[tokio::test]
async fn each_refusal_of_squid_has_its_outcome_and_never_reaches_the_site() {
    let nginx = Nginx::start();
    let (ip, closed) = (nginx.ip(), port(address()));
    let proxy = start(&nginx, &[closed]);
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let cases: [Case; 13] = [
        ("", nginx.plain("/"), Some(407), rejected),
        ("", nginx.tls("/"), None, rejected),
        (WRONG, nginx.plain("/"), Some(407), rejected),
        (WRONG, nginx.tls("/"), None, rejected),
        // Not among its Safe_ports.
        (LOGIN, format!("http://{ip}:1/"), Some(403), Outcome::TargetDenied),
        // Not among its SSL_ports.
        (LOGIN, format!("https://{ip}:{}/", nginx.plain_port()), None, Outcome::TargetDenied),
        (LOGIN, "http://denied.test/".into(), Some(403), Outcome::TargetDenied),
        (LOGIN, format!("https://denied.test:{closed}/"), None, Outcome::TargetDenied),
        // A site that is down is 503 to both.
        (LOGIN, format!("http://{ip}:{closed}/"), Some(503), Outcome::TargetUnreachable),
        (LOGIN, format!("https://{ip}:{closed}/"), None, Outcome::TargetUnreachable),
        // A name that is not there is 500 to one, and to the other 502 and a read that broke.
        (LOGIN, "http://nowhere.test/".into(), Some(502), Outcome::Interrupted { phase: Phase::Head }),
        (LOGIN, format!("https://nowhere.test:{closed}/"), None, Outcome::TargetUnreachable),
        (LOGIN, nginx.plain("/"), Some(200), Outcome::Ok),
    ];
    let (refused, served) = cases.split_at(12);
    check(&nginx, &proxy, refused, 0).await;
    check(&nginx, &proxy, served, 1).await;
}

#[tokio::test]
async fn squid_behind_tls_carries_everything_and_refuses_logins() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    let proxy = start_with_tls(&nginx, &authority, false);
    carries_everything(&nginx, &proxy, LOGIN).await;
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let cases = [(WRONG, nginx.plain("/"), Some(407), rejected), (WRONG, nginx.tls("/"), None, rejected)];
    check(&nginx, &proxy, &cases, 0).await;
}

#[tokio::test]
async fn a_squid_whose_certificate_is_not_trusted_gets_no_request_and_no_login() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    // It is not the site's roots that count.
    let proxy = Proxy { roots: Some(nginx.roots().into()), ..start_with_tls(&nginx, &authority, false) };
    let outcome = Outcome::ProxyError { phase: Phase::ExitTls };
    let cases = [nginx.plain("/"), nginx.tls("/")].map(|url| (LOGIN, url, None, outcome));
    check(&nginx, &proxy, &cases, 0).await;
}

#[tokio::test]
async fn a_squid_that_wants_a_certificate_takes_its_own_authoritys() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    let proxy = start_with_tls(&nginx, &authority, true);
    let (chain, key) = authority.certificate(&["client.test".into()]);
    let tls = ProxyTls::builder().roots_pem(authority.pem.as_bytes());
    let tls = tls.identity_pem(chain.as_bytes(), key.as_bytes()).build().unwrap();
    let known = ExitList::parse(&proxy.spec(LOGIN)).unwrap().proxy_tls(&tls);
    for url in [nginx.plain("/"), nginx.tls("/")] {
        let came = Through::exit(known.clone(), nginx.roots()).get(&url).await;
        assert_eq!((came.status(), came.outcome), (Some(200), Outcome::Ok), "{url}: {:?}", came.answer);
        assert_eq!(nginx.asked_by(proxy.exit()).len(), 1, "{url}");
    }
    // In TLS 1.3 the handshake is over on this side when the other refuses it.
    let outcome = Outcome::ProxyError { phase: Phase::ExitTls };
    let cases = [nginx.plain("/"), nginx.tls("/")].map(|url| (LOGIN, url, None, outcome));
    check(&nginx, &proxy, &cases, 0).await;
}

#[tokio::test]
async fn plain_pages_through_a_tunnel_are_a_matter_of_its_ports() {
    let nginx = Nginx::start();
    let through = |proxy: &Proxy| Through::by(proxy.listed(LOGIN), ExitClient::builder().tunnel_http(true));
    let proxy = start(&nginx, &[nginx.plain_port()]);
    let came = through(&proxy).get(&nginx.plain("/")).await;
    assert_eq!((came.status(), came.outcome), (Some(200), Outcome::Ok), "{:?}", came.answer);
    assert_eq!(nginx.asked_by(proxy.exit()), ["GET HTTP/1.1 http / -"]);
    let proxy = start(&nginx, &[]);
    let came = through(&proxy).get(&nginx.plain("/")).await;
    assert_eq!((came.status(), came.outcome), (None, Outcome::TargetDenied), "{:?}", came.answer);
    assert_eq!(nginx.asked_by(proxy.exit()), [""; 0]);
}
