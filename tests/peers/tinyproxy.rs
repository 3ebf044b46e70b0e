//! tinyproxy: one process, HTTP/1.0 to its clients, and 401 for a login that is wrong.

use crate::daemon::{Daemon, Folder, address, port};
use crate::half::shows_a_broken_body;
use crate::nginx::Nginx;
use crate::proxy::{Case, LOGIN, Place, Proxy, WRONG, carries_everything, check, tells_the_sites_refusals};
use tower_egress::Outcome;
use tower_egress::outcome::{AuthReason, Phase};

/// A tinyproxy that tunnels to these ports.
pub(crate) fn start(ports: &[u16]) -> Proxy {
    let (folder, place) = (Folder::new(), Place::new());
    let denied = folder.file("denied", "denied.test\n");
    let ports: String = ports.iter().map(|port| format!("ConnectPort {port}\n")).collect();
    let (ip, port, exit) = (place.listen.ip(), place.listen.port(), place.exit);
    let config = format!(
        "Listen {ip}\nPort {port}\nBind {exit}\nTimeout 30\nMaxClients 50\nBasicAuth user secret\nFilter \"{denied}\"\n{ports}"
    );
    let configured = folder.file("tinyproxy.conf", &config);
    let args = ["-d", "-c", &configured];
    let daemon = Daemon::start(("tinyproxy", "tinyproxy-bin"), &args, folder, &[place.listen]);
    Proxy { _daemon: daemon, place, scheme: "http", roots: None }
}

#[tokio::test]
async fn tinyproxy_carries_everything_once_and_from_its_own_address() {
    let nginx = Nginx::start();
    let proxy = start(&[nginx.tls_port()]);
    carries_everything(&nginx, &proxy, LOGIN).await;
    tells_the_sites_refusals(&nginx, &proxy, LOGIN).await;
    shows_a_broken_body(&nginx, &proxy, LOGIN).await;
    // It has nothing to say for a site that closes, and closes too.
    let outcome = Outcome::Interrupted { phase: Phase::Head };
    check(&nginx, &proxy, &[(LOGIN, nginx.plain("/close"), None, outcome)], 1).await;
}

#[tokio::test]
async fn each_refusal_of_tinyproxy_has_its_outcome_and_never_reaches_the_site() {
    let nginx = Nginx::start();
    let (ip, closed) = (nginx.ip(), port(address()));
    let proxy = start(&[nginx.tls_port(), closed]);
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    // A label that is too long for a name: the system's resolver asks nobody for it.
    let nowhere = format!("{}.test", "a".repeat(64));
    let cases: [Case; 10] = [
        ("", nginx.plain("/"), Some(407), rejected),
        ("", nginx.tls("/"), None, rejected),
        // For a login that is wrong it says 401, as only a site should.
        (WRONG, nginx.plain("/"), Some(401), rejected),
        (WRONG, nginx.tls("/"), None, rejected),
        (LOGIN, format!("https://{ip}:{}/", nginx.plain_port()), None, Outcome::TargetDenied),
        (LOGIN, "http://denied.test/".into(), Some(403), Outcome::TargetDenied),
        (LOGIN, format!("https://denied.test:{closed}/"), None, Outcome::TargetDenied),
        // 500 "Unable to connect", whatever kept it: a site that is down, a name that is not there.
        (LOGIN, format!("http://{ip}:{closed}/"), Some(500), Outcome::TargetUnreachable),
        (LOGIN, format!("https://{ip}:{closed}/"), None, Outcome::TargetUnreachable),
        (LOGIN, format!("http://{nowhere}/"), Some(500), Outcome::TargetUnreachable),
    ];
    check(&nginx, &proxy, &cases, 0).await;
}
