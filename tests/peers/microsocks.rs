//! microsocks: SOCKS5 with user and password, which dante takes only from the system's own users.

use crate::daemon::{Daemon, Folder, address, port};
use crate::half::shows_a_broken_body;
use crate::nginx::Nginx;
use crate::proxy::{Case, LOGIN, Place, Proxy, WRONG, carries_everything, check, tells_the_sites_refusals};
use tower_egress::Outcome;
use tower_egress::outcome::{AuthReason, Phase};

pub(crate) fn start() -> Proxy {
    let place = Place::new();
    let [ip, port, exit] =
        [place.listen.ip().to_string(), place.listen.port().to_string(), place.exit.to_string()];
    let args = ["-i", &ip, "-p", &port, "-u", "user", "-P", "secret", "-b", &exit];
    let daemon = Daemon::start(("microsocks", "microsocks"), &args, Folder::new(), &[place.listen]);
    Proxy { _daemon: daemon, place, scheme: "socks5h", roots: None }
}

#[tokio::test]
async fn microsocks_carries_everything_once_and_from_its_own_address() {
    let nginx = Nginx::start();
    let proxy = start();
    carries_everything(&nginx, &proxy, LOGIN).await;
    tells_the_sites_refusals(&nginx, &proxy, LOGIN).await;
    shows_a_broken_body(&nginx, &proxy, LOGIN).await;
}

#[tokio::test]
async fn each_refusal_of_microsocks_has_its_outcome_and_never_reaches_the_site() {
    let nginx = Nginx::start();
    let (ip, closed) = (nginx.ip(), port(address()));
    let proxy = start();
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let nowhere = format!("{}.test", "a".repeat(64));
    let cases: [Case; 6] = [
        // It offers no method to who has no login, and refuses one that is wrong.
        ("", nginx.plain("/"), None, rejected),
        ("", nginx.tls("/"), None, rejected),
        (WRONG, nginx.plain("/"), None, rejected),
        (WRONG, nginx.tls("/"), None, rejected),
        (LOGIN, format!("https://{ip}:{closed}/"), None, Outcome::TargetUnreachable),
        (LOGIN, format!("http://{nowhere}/"), None, Outcome::ProxyError { phase: Phase::Tunnel }),
    ];
    check(&nginx, &proxy, &cases, 0).await;
}
