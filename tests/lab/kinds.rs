//! Every kind of exit, through the crate's own client.

use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tower::Layer;
use tower_egress::client::ResponseBody;
use tower_egress::exit::{Credential, ProxyTls, Via};
use tower_egress::lab::{Behaviour, Lab, LabBuilder, Reply, SocksReply};
use tower_egress::{Body, EgressClient, EgressLayer, ExitClient, LeaseRequest, Scheduler};

/// A lab, a client that has it alone to go through, and how many names the client looked up by itself.
struct World {
    lab: Lab,
    scheduler: Scheduler,
    client: EgressClient,
    looked_up: Arc<AtomicU64>,
}

async fn world(builder: LabBuilder) -> World {
    let lab = builder.start().await.unwrap();
    let scheduler = Scheduler::builder().exits(lab.exits()).seed(7).build().unwrap();
    let looked_up: Arc<AtomicU64> = Arc::default();
    let names = Arc::clone(&looked_up);
    let resolver = move |_: String| {
        names.fetch_add(1, Ordering::Relaxed);
        async { io::Result::Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) }
    };
    let root = lab.ca_pem().as_bytes();
    let proxy_tls = ProxyTls::builder().roots_pem(root).build().unwrap();
    let client = ExitClient::builder().roots_pem(root).proxy_tls(&proxy_tls).resolver(resolver);
    let stack = EgressLayer::new(&scheduler)
        .default_lease(LeaseRequest::per_request())
        .layer(client.build().unwrap());
    World { client: EgressClient::of(stack), lab, scheduler, looked_up }
}

impl World {
    async fn get(&self, url: String) -> Result<Response<ResponseBody>, tower_egress::Error> {
        self.client.send(Request::get(url).body(Body::empty()).unwrap()).await
    }

    async fn text(&self, url: String) -> String {
        let response = self.get(url).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}

fn asking(via: Via) -> Behaviour {
    let login =
        if via.is_socks() { Credential::socks("us:er", "p@ss") } else { Credential::new("user", "p@ss") };
    Behaviour::fine().login(login.unwrap())
}

#[tokio::test]
async fn every_kind_of_proxy_carries_plain_and_tls() {
    for via in [Via::Http, Via::Https, Via::Socks5h, Via::Socks5] {
        let world = world(Lab::builder().via(via).exit(asking(via))).await;
        for url in [world.lab.url("/p"), world.lab.tls_url("/p")] {
            assert_eq!(world.text(url).await, "<h1>/p</h1>\n", "{via:?}");
        }
        let exit = world.lab.exit(0);
        let seen = world.lab.origin().seen();
        assert!(seen.iter().all(|seen| seen.peer() == exit.source()), "{via:?}");
        let versions: Vec<_> = seen.iter().map(|seen| seen.version()).collect();
        assert_eq!(versions, [Version::HTTP_11, Version::HTTP_2], "{via:?}");
        let traffic = exit.traffic();
        let tunnels = if via.forwards() { 1 } else { 2 };
        assert_eq!((traffic.connects, traffic.requests), (tunnels, 2 - tunnels), "{via:?}");
        // Only socks5 tells this machine's resolver; everybody else lets the exit look up.
        let resolves_here = via == Via::Socks5;
        assert_eq!(traffic.names, if resolves_here { 0 } else { tunnels }, "{via:?}");
        assert_eq!(world.looked_up.load(Ordering::Relaxed) > 0, resolves_here, "{via:?}");
        assert_eq!(traffic.refused_logins, 0);
    }
}

#[tokio::test]
async fn an_own_address_is_where_requests_come_from() {
    let world = world(Lab::builder().via(Via::Local).fine(1)).await;
    for url in [world.lab.direct_url("/p"), world.lab.direct_tls_url("/p")] {
        assert_eq!(world.text(url).await, "<h1>/p</h1>\n");
    }
    let peers = world.lab.origin().peers();
    assert_eq!(peers.keys().copied().collect::<Vec<_>>(), [world.lab.exit(0).source()]);
}

#[tokio::test]
async fn exits_at_ipv6_are_reached() {
    for via in [Via::Http, Via::Https, Via::Socks5h] {
        let world = world(Lab::builder().ipv6(true).site("six.test").via(via).fine(1)).await;
        for url in [world.lab.tls_url("/p"), world.lab.direct_url("/p"), world.lab.direct_tls_url("/p")] {
            assert_eq!(world.text(url).await, "<h1>/p</h1>\n", "{via:?}");
        }
    }
}

#[tokio::test]
async fn a_burst_through_one_exit_is_one_connection_of_http_2() {
    for via in [Via::Http, Via::Https, Via::Socks5h] {
        let world = world(Lab::builder().via(via).fine(1)).await;
        world.lab.origin().respond(|_| Reply::page("late").after(Duration::from_millis(50)));
        let world = Arc::new(world);
        let burst: Vec<_> = (0..16)
            .map(|at| {
                let world = Arc::clone(&world);
                tokio::spawn(async move { world.text(world.lab.tls_url(&format!("/{at}"))).await })
            })
            .collect();
        for request in burst {
            assert_eq!(request.await.unwrap(), "late");
        }
        let counts = world.lab.origin().peers()[&world.lab.exit(0).source()];
        assert_eq!((counts.connections, counts.requests), (1, 16), "{via:?}");
    }
}

#[tokio::test]
async fn a_refused_socks_tunnel_moves_on_and_the_site_never_knew() {
    let walled = Behaviour::fine().answer_socks(SocksReply::code(1));
    let world = world(Lab::builder().via(Via::Socks5h).exits(3, walled).fine(1)).await;
    for _ in 0..8 {
        world.text(world.lab.tls_url("/p")).await;
    }
    assert_eq!(world.lab.origin().requests(), 8, "each request arrived once");
    let outcomes = world.scheduler.snapshot().outcomes;
    assert_eq!(outcomes.ok, 8);
    assert!(outcomes.proxy_error > 0, "{outcomes:?}");
}
