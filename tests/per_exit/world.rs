//! The lab on loopback with a foreign client per exit in front of it.

use crate::clients::{Foreign, Kind, Page, trust};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower::Layer as _;
use tower_egress::classify::EgressBody;
use tower_egress::lab::{Lab, LabBuilder};
use tower_egress::outcome::Outcome;
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, EgressLayer, Error, ExitId, ExitList, Gateway, LeaseRequest, PerExit, Scheduler, Served,
};

pub(crate) type Clients = PerExit<Foreign>;
pub(crate) type Answer = Response<EgressBody<Page>>;

pub(crate) struct World {
    pub(crate) lab: Lab,
    pub(crate) scheduler: Scheduler,
    pub(crate) clients: Clients,
}

impl World {
    pub(crate) async fn start(kind: Kind, lab: LabBuilder) -> Self {
        let lab = lab.start().await.unwrap();
        let exits = lab.exits();
        Self::over(kind, lab, exits)
    }

    /// Through these exits instead of the lab's own.
    pub(crate) fn over(kind: Kind, lab: Lab, exits: ExitList) -> Self {
        // Its delays are a quarter of a second where the default's are seconds.
        let scheduler = Scheduler::builder().seed(7).rules(RetryRules::negotiated());
        let scheduler = match lab.gateways() {
            [] => scheduler.exits(exits),
            [one, ..] => scheduler.gateway(Gateway::rotating(&one.template()).unwrap()),
        };
        let tls = trust(lab.ca_pem());
        let clients = PerExit::new(move |route| kind.client(route, &tls));
        Self { lab, scheduler: scheduler.build().unwrap(), clients }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Answer, Error> {
        within(EgressLayer::new(&self.scheduler).layer(self.clients.clone()).oneshot(request)).await
    }

    /// One request that holds no exit, its page read to the end.
    pub(crate) async fn fetch(&self, method: Method, url: &str) -> Result<(u16, Served), Error> {
        let answer = self.send(request(method, url)).await?;
        let status = answer.status().as_u16();
        let served = answer.extensions().get::<Served>().unwrap().clone();
        within(answer.into_body().collect()).await.unwrap();
        settle().await;
        Ok((status, served))
    }

    pub(crate) fn place(&self, exit: ExitId) -> usize {
        self.lab.exits().iter().position(|known| known.id() == exit).unwrap()
    }
}

pub(crate) fn request(method: Method, url: &str) -> Request<Body> {
    let ask = LeaseRequest::per_request();
    Request::builder().method(method).uri(url).extension(ask).body(Body::empty()).unwrap()
}

pub(crate) fn outcomes(served: &Served) -> Vec<Outcome> {
    served.trail().iter().map(|attempt| attempt.outcome).collect()
}

/// One round trip over loopback, on the one thread of the test: what was ready before has run, and the runtime has looked
/// at its sockets.
pub(crate) async fn settle() {
    for _ in 0..2 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        drop(far.unwrap());
        assert_eq!(within(near.unwrap().read(&mut [0])).await.unwrap(), 0);
        tokio::task::yield_now().await;
    }
}

/// A failing test must end.
pub(crate) async fn within<F: Future>(work: F) -> F::Output {
    timeout(Duration::from_secs(20), work).await.expect("took too long")
}

/// A proxy whose connections each answer one request and close when they have read the next.
pub(crate) async fn closing_on_the_second_request() -> ExitList {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let exits = ExitList::parse(&listener.local_addr().unwrap().to_string()).unwrap();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                if peer.read(&mut head).await.is_ok() {
                    let answered = peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                    let _ = (answered, peer.read(&mut head).await);
                }
            });
        }
    });
    exits
}
