//! What is the same for every proxy: where it listens, what it must carry, how its refusals are checked.

use crate::daemon::{Daemon, address, port};
use crate::nginx::{BIG, Nginx, OVER_TLS};
use crate::through::Through;
use http::StatusCode;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tower_egress::exit::ProxyTls;
use tower_egress::outcome::{BlockedBy, Phase, RetryAfter};
use tower_egress::{ExitList, Outcome};

pub(crate) const LOGIN: &str = "user:secret@";
pub(crate) const WRONG: &str = "user:wrong@";

/// Where a proxy listens, and the address that it connects from.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) listen: SocketAddr,
    pub(crate) exit: IpAddr,
}

impl Place {
    pub(crate) fn new() -> Self {
        let ip = address();
        Self { listen: SocketAddr::new(ip, port(ip)), exit: address() }
    }
}

/// A proxy that runs, as one exit.
pub(crate) struct Proxy {
    pub(crate) _daemon: Daemon,
    pub(crate) place: Place,
    /// How its proxy spec begins.
    pub(crate) scheme: &'static str,
    /// The root of its own certificate; for `https`.
    pub(crate) roots: Option<String>,
}

impl Proxy {
    /// Its proxy spec; a login ends in `@`.
    pub(crate) fn spec(&self, login: &str) -> String {
        format!("{}://{login}{}", self.scheme, self.place.listen)
    }

    /// It as the one exit of a list.
    pub(crate) fn listed(&self, login: &str) -> ExitList {
        let list = ExitList::parse(&self.spec(login)).unwrap();
        match &self.roots {
            Some(roots) => list.proxy_tls(&ProxyTls::builder().roots_pem(roots.as_bytes()).build().unwrap()),
            None => list,
        }
    }

    pub(crate) fn exit(&self) -> IpAddr {
        self.place.exit
    }
}

/// What is asked for, with which login, and what must become of it: the status, if that is an answer, and the outcome.
pub(crate) type Case = (&'static str, String, Option<u16>, Outcome);

/// Checks cases, each with a fleet of its own; what the site must see of each is `seen` lines.
pub(crate) async fn check(nginx: &Nginx, proxy: &Proxy, cases: &[Case], seen: usize) {
    for (login, url, status, outcome) in cases {
        let came = Through::exit(proxy.listed(login), nginx.roots()).get(url).await;
        let what = format!("{login}{url}: {:?}", came.answer);
        assert_eq!((came.status(), came.outcome), (*status, *outcome), "{what}");
        assert_eq!(nginx.asked_by(proxy.exit()).len(), seen, "{what}");
        if let Err(why) = came.answer {
            assert!(!why.contains("secret") && !why.contains("wrong"), "{why}");
        }
    }
}

/// Pages, orders, a big page; plain, with TLS, by address and by name: each is answered, and asked once.
pub(crate) async fn carries_everything(nginx: &Nginx, proxy: &Proxy, login: &str) {
    let through = Through::exit(proxy.listed(login), nginx.roots());
    let by_name = |scheme, port| format!("{scheme}://localhost:{port}/name");
    for (url, asked) in [
        (nginx.plain("/a"), "GET HTTP/1.1 http /a -".to_owned()),
        (nginx.plain("/again"), "GET HTTP/1.1 http /again -".to_owned()),
        (by_name("http", nginx.plain_port()), "GET HTTP/1.1 http /name -".to_owned()),
        (nginx.tls("/a"), format!("GET {OVER_TLS} https /a -")),
        (nginx.tls("/again"), format!("GET {OVER_TLS} https /again -")),
        (by_name("https", nginx.tls_port()), format!("GET {OVER_TLS} https /name -")),
    ] {
        let came = through.get(&url).await;
        assert_eq!((came.answer, came.outcome), (Ok((200, "page".to_owned())), Outcome::Ok), "{url}");
        assert_eq!(nginx.asked_by(proxy.exit()), [asked], "{url}");
    }
    for (url, asked) in [
        (nginx.plain("/order"), "POST HTTP/1.1 http /order one-shirt".to_owned()),
        (nginx.tls("/order"), format!("POST {OVER_TLS} https /order one-shirt")),
    ] {
        let came = through.post(&url, "one-shirt").await;
        assert_eq!((came.answer, came.outcome), (Ok((200, "ordered".to_owned())), Outcome::Ok), "{url}");
        assert_eq!(nginx.asked_by(proxy.exit()), [asked], "{url}");
    }
    for url in [nginx.plain("/big"), nginx.tls("/big")] {
        let (status, body) = through.get(&url).await.answer.unwrap();
        assert_eq!((status, body.len()), (200, BIG), "{url}");
        assert_eq!(nginx.asked_by(proxy.exit()).len(), 1, "{url}");
    }
}

/// What the site refuses is the site's word, through every proxy, and asked once.
pub(crate) async fn tells_the_sites_refusals(nginx: &Nginx, proxy: &Proxy, login: &'static str) {
    let hint = Some(RetryAfter::new(Duration::from_secs(7)));
    for page in [Nginx::plain, Nginx::tls] {
        let cases = [
            ("/forbidden", 403, Outcome::Blocked { by: BlockedBy::Unknown }),
            ("/often", 429, Outcome::RateLimited { retry_after: hint }),
            ("/down", 503, Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE }),
        ];
        let cases = cases.map(|(path, status, outcome)| (login, page(nginx, path), Some(status), outcome));
        check(nginx, proxy, &cases, 1).await;
    }
    // In a tunnel the proxy only passes on that the site closed.
    let outcome = Outcome::Interrupted { phase: Phase::Head };
    check(nginx, proxy, &[(login, nginx.tls("/close"), None, outcome)], 1).await;
}
