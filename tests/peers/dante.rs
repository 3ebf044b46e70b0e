//! dante: SOCKS5 without a login, and a reply code for each reason.

use crate::daemon::{Daemon, Folder, address, port};
use crate::half::shows_a_broken_body;
use crate::nginx::Nginx;
use crate::proxy::{Case, LOGIN, Place, Proxy, carries_everything, check, tells_the_sites_refusals};
use std::net::IpAddr;
use tower_egress::Outcome;
use tower_egress::outcome::{AuthReason, Phase};

/// A dante that lets nobody to `blocked`.
pub(crate) fn start(blocked: IpAddr) -> Proxy {
    let (folder, place) = (Folder::new(), Place::new());
    let (ip, port, exit) = (place.listen.ip(), place.listen.port(), place.exit);
    let config = format!(
        "
logoutput: stderr
internal: {ip} port = {port}
external: {exit}
clientmethod: none
socksmethod: none
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
socks block {{ from: 127.0.0.0/8 to: {blocked}/32 }}
socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
"
    );
    let configured = folder.file("danted.conf", &config);
    let daemon = Daemon::start(("danted", "dante-server"), &["-f", &configured], folder, &[place.listen]);
    Proxy { _daemon: daemon, place, scheme: "socks5h", roots: None }
}

#[tokio::test]
async fn dante_carries_everything_once_and_from_its_own_address() {
    let nginx = Nginx::start();
    let proxy = start(address());
    carries_everything(&nginx, &proxy, "").await;
    tells_the_sites_refusals(&nginx, &proxy, "").await;
    shows_a_broken_body(&nginx, &proxy, "").await;
    let outcome = Outcome::Interrupted { phase: Phase::Head };
    check(&nginx, &proxy, &[("", nginx.plain("/close"), None, outcome)], 1).await;
}

#[tokio::test]
async fn a_name_that_is_resolved_here_reaches_the_site_too() {
    let nginx = Nginx::start();
    let proxy = Proxy { scheme: "socks5", ..start(address()) };
    carries_everything(&nginx, &proxy, "").await;
}

#[tokio::test]
async fn each_refusal_of_dante_has_its_outcome_and_never_reaches_the_site() {
    let nginx = Nginx::start();
    let (ip, blocked, closed) = (nginx.ip(), address(), port(address()));
    let proxy = start(blocked);
    // A label that is too long for a name: the system's resolver asks nobody for it.
    let nowhere = format!("{}.test", "a".repeat(64));
    let cases: [Case; 6] = [
        // By its rules, 2.
        ("", format!("http://{blocked}/"), None, Outcome::TargetDenied),
        ("", format!("https://{blocked}/"), None, Outcome::TargetDenied),
        // Refused by the site, 5; no such name, 4.
        ("", format!("http://{ip}:{closed}/"), None, Outcome::TargetUnreachable),
        ("", format!("https://{ip}:{closed}/"), None, Outcome::TargetUnreachable),
        ("", format!("http://{nowhere}/"), None, Outcome::TargetUnreachable),
        // It would let anybody in, but no login is left out: it might name the session.
        (LOGIN, nginx.tls("/"), None, Outcome::AuthError { reason: AuthReason::Rejected }),
    ];
    check(&nginx, &proxy, &cases, 0).await;
}
