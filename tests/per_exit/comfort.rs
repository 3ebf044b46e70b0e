//! Call-site comfort of another crate over the boxed whole.

use crate::clients::Kind;
use crate::world::{World, within};
use http::Method;
use tower::ServiceBuilder;
use tower_egress::lab::{Lab, Reply};
use tower_egress::{EgressClient, EgressLayer, LeaseRequest, Scheduler, Served};
use tower_http::trace::TraceLayer;
use tower_http_client::{ResponseExt as _, ServiceExt as _};

#[tokio::test]
async fn requests_are_built_and_sent_on_the_client_itself() {
    let lab = Lab::builder().fine(3).start().await.unwrap();
    lab.origin().page("/p/42", Reply::page("9.99"));
    let scheduler = Scheduler::builder().exits(lab.exits()).build().unwrap();
    let mut client = EgressClient::new(&scheduler);

    let ask = LeaseRequest::new("sku-42");
    let response = within(client.get(lab.url("/p/42")).extension(ask.clone()).send()).await.unwrap();
    let exit = response.extensions().get::<Served>().unwrap().exit();
    assert_eq!(response.body_reader().utf8().await.unwrap(), "9.99");

    let order = client.post(lab.url("/orders")).extension(ask).body::<String>("sku=42").unwrap();
    let response = within(order.send()).await.unwrap();
    assert_eq!(response.extensions().get::<Served>().unwrap().exit(), exit, "the key holds it");
    let seen = lab.origin().seen();
    assert_eq!((seen[1].method(), seen[1].body_len()), (&Method::POST, 6));
}

/// The stack takes requests of any body; boxed, it says which, and these methods can be called on it.
#[tokio::test]
async fn so_they_are_over_a_client_of_ones_own() {
    let world = World::start(Kind::Reqwest, Lab::builder().fine(2)).await;
    let stack = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(EgressLayer::new(&world.scheduler))
        .service(world.clients.clone());
    let mut client = EgressClient::of(stack);
    let get = client.get(world.lab.tls_url("/p/42")).extension(LeaseRequest::new("sku-42"));
    let response = within(get.send()).await.unwrap();
    assert_eq!((response.status().as_u16(), world.lab.origin().requests()), (200, 1));
}
