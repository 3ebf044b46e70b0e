//! Whose fault a certificate is that nobody trusts: shown by one exit alone it is the exit's, by all of them the origin's.

use crate::world::{Pki, Proxy, within};
use http::Request;
use http_body_util::BodyExt as _;
use tower::Layer as _;
use tower_egress::exit::{Exit, ExitId};
use tower_egress::outcome::{Failure, Phase};
use tower_egress::verdict::RetryRules;
use tower_egress::{Body, EgressLayer, Error, ExitList, LeaseRequest, Outcome, Scheduler};

struct Shop {
    scheduler: Scheduler,
    exits: Vec<ExitId>,
    /// Kept, since they serve as long as they live.
    _proxies: Vec<Proxy>,
    pki: Pki,
}

impl Shop {
    /// Exits in front of the site, of which these many put themselves between.
    async fn behind(intercepting: usize, honest: usize) -> Self {
        let (pki, forger) = (Pki::new("shop.example"), Pki::new("shop.example"));
        let mut proxies = Vec::new();
        for _ in 0..intercepting {
            proxies.push(forger.proxy().await);
        }
        for _ in 0..honest {
            proxies.push(pki.proxy().await);
        }
        let spec = |proxy: &Proxy| Exit::parse(&proxy.address().to_string()).unwrap();
        let exits: Vec<_> = proxies.iter().map(spec).collect();
        let ids = exits.iter().map(Exit::id).collect();
        let scheduler = Scheduler::builder().exits(ExitList::from_iter(exits)).seed(7);
        let scheduler = scheduler.rules(RetryRules::negotiated()).build().unwrap();
        Self { scheduler, exits: ids, _proxies: proxies, pki }
    }

    async fn fetch(&self) -> Result<String, Error> {
        let stack = EgressLayer::new(&self.scheduler).layer(self.pki.client());
        let request = Request::get("https://shop.example/").extension(LeaseRequest::per_request());
        let answer = within(stack.oneshot(request.body(Body::empty()).unwrap())).await?;
        let body = within(answer.into_body().collect()).await?.to_bytes();
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    fn dead(&self) -> u32 {
        self.scheduler.snapshot().exits.dead
    }
}

#[tokio::test]
async fn a_certificate_that_one_exit_alone_shows_is_the_exits() {
    let shop = Shop::behind(1, 3).await;
    // Half a fault each time, since the site works for others; half a dozen make the exit dead.
    let mut fetched = 0;
    while shop.dead() == 0 {
        assert_eq!(shop.fetch().await.unwrap(), "ok", "goes on through another exit");
        fetched += 1;
        assert!(fetched < 200, "nobody found out");
    }
    let through_it = shop.scheduler.lease(&LeaseRequest::per_request().origin("shop.example")).unwrap();
    assert_ne!(through_it.exit(), shop.exits[0]);
}

#[tokio::test]
async fn a_certificate_that_every_exit_shows_is_the_origins() {
    let shop = Shop::behind(4, 0).await;
    for _ in 0..6 {
        let error = shop.fetch().await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::OriginTls }));
        assert!(error.to_string().contains("not trusted"), "{error}");
        let failure = std::error::Error::source(&error).and_then(|cause| {
            std::iter::successors(Some(cause), |cause| cause.source())
                .find_map(|at| at.downcast_ref::<Failure>())
        });
        assert!(failure.is_some_and(Failure::is_login_accepted));
        let exits: std::collections::HashSet<_> = error.attempts().iter().map(|at| at.exit).collect();
        assert_eq!((error.attempts().len(), exits.len()), (2, 2), "one other exit is asked, and no more");
    }
    assert_eq!(shop.dead(), 0, "the site is down, and no exit is to blame");
}
