//! The whole stack in front of scripted proxies: what an exchange costs the exits.

use crate::world::{Proxy, request, within};
use http::{Method, Request, Response};
use std::time::Duration;
use tower::Layer as _;
use tower_egress::client::ResponseBody;
use tower_egress::exit::{Exit, ExitList};
use tower_egress::verdict::RetryRules;
use tower_egress::{Body, EgressClient, EgressLayer, Error, ExitClient, LeaseRequest, Scheduler};

pub(crate) struct Fleet {
    pub(crate) scheduler: Scheduler,
    client: ExitClient,
    asking: LeaseRequest,
    attempt_timeout: Duration,
}

impl Fleet {
    /// One exit, with a login.
    pub(crate) fn of(proxy: &Proxy, client: ExitClient) -> Self {
        Self::through(&Exit::parse(&format!("http://u:p@{}", proxy.address())).unwrap(), client)
    }

    /// One exit.
    pub(crate) fn through(exit: &Exit, client: ExitClient) -> Self {
        Self::built(scheduler(0, std::slice::from_ref(exit)), client)
    }

    /// Two exits, of which this one is taken first.
    pub(crate) fn first(first: &Exit, exits: &[Exit; 2], client: ExitClient) -> Self {
        let takes_it = |seed: &u64| {
            let ask = LeaseRequest::per_request().origin("shop.example");
            scheduler(*seed, exits).lease(&ask).unwrap().exit() == first.id()
        };
        let seed = (0..64).find(takes_it).expect("a seed decides");
        Self::built(scheduler(seed, exits), client)
    }

    fn built(scheduler: Scheduler, client: ExitClient) -> Self {
        let (asking, attempt_timeout) = (LeaseRequest::per_request(), Duration::from_secs(30));
        Self { scheduler, client, asking, attempt_timeout }
    }

    pub(crate) fn asking(self, asking: LeaseRequest) -> Self {
        Self { asking, ..self }
    }

    pub(crate) fn attempt_timeout(self, attempt_timeout: Duration) -> Self {
        Self { attempt_timeout, ..self }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &str,
        body: &'static str,
    ) -> Result<Response<ResponseBody>, Error> {
        let body = if method == Method::GET { "" } else { body };
        self.ask(request(method, None, uri, body)).await
    }

    pub(crate) async fn ask(&self, mut request: Request<Body>) -> Result<Response<ResponseBody>, Error> {
        request.extensions_mut().insert(self.asking.clone());
        let stack = EgressLayer::new(&self.scheduler).attempt_timeout(self.attempt_timeout);
        within(EgressClient::of(stack.layer(self.client.clone())).send(request)).await
    }

    /// Nobody was charged, and no lease is out.
    pub(crate) fn is_unharmed(&self) -> bool {
        let snapshot = self.scheduler.snapshot();
        let cold = snapshot.hottest.iter().all(|pair| pair.heat == 0.0);
        cold && (snapshot.in_flight, snapshot.exits.dead, snapshot.exits.held) == (0, 0, 0)
    }
}

fn scheduler(seed: u64, exits: &[Exit]) -> Scheduler {
    let exits: ExitList = exits.iter().cloned().collect();
    Scheduler::builder().exits(exits).seed(seed).rules(RetryRules::negotiated()).build().unwrap()
}
