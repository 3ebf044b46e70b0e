//! Redirects that somebody follows around the layers.

use crate::shop::*;
use http::header::{LOCATION, PROXY_AUTHORIZATION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::{Layer, Service, ServiceExt};
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::{
    Body, EgressLayer, Error, Granularity, LeaseError, LeaseHandle, LeaseRequest, Scope, Served,
};

/// Follows one redirect, as tower-http does: older versions dropped the request's extensions, later ones keep them.
#[derive(Clone)]
struct Follow<S> {
    inner: S,
    keeps_extensions: bool,
}

impl<S, B> Service<Request<Body>> for Follow<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let again = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, again.clone());
        let extensions =
            if self.keeps_extensions { request.extensions().clone() } else { Default::default() };
        Box::pin(async move {
            let answer = ready.call(request).await?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let mut next =
                Request::get(answer.headers()[LOCATION].to_str().unwrap()).body(Body::empty()).unwrap();
            drop(answer);
            *next.extensions_mut() = extensions;
            again.oneshot(next).await
        })
    }
}

fn redirect(to: &str) -> Reply {
    Reply::new(StatusCode::FOUND).header(LOCATION, HeaderValue::from_str(to).unwrap())
}

fn sites() -> Shop {
    let shop = Shop::of(Lab::builder().site("shop.test").site("pay.test").fine(10));
    shop.world.origin().page("/near", redirect("https://shop.test/p"));
    shop.world.origin().page("/far", redirect("https://pay.test/p"));
    shop
}

/// A key that holds one exit at all hosts for ever.
fn everywhere(key: &'static str) -> LeaseRequest {
    let forever = Granularity::Windowed { max_age: None, max_uses: None };
    LeaseRequest::new(key).granularity(forever).scope(Scope::AllOrigins)
}

#[tokio::test(start_paused = true)]
async fn te_055_every_hop_takes_a_lease_of_its_own_and_keeps_its_key() {
    for path in ["/near", "/far"] {
        let shop = sites();
        let stack = Follow { inner: shop.stack.clone(), keeps_extensions: true };
        let request = request(Method::GET, &shop.world.tls_url(path), "", everywhere("k"));
        let (status, served) = read(stack.oneshot(request).await.unwrap()).await;
        assert_eq!((status, served.attempts(), shop.scheduler.snapshot().leases), (200, 1, 2));
        let far = seen(shop.world.site("pay.test").unwrap());
        let hops: Vec<_> = shop.seen().into_iter().chain(far).collect();
        assert_eq!(hops, [shop.place(served.exit()); 2], "one key, one exit");
    }
}

#[tokio::test(start_paused = true)]
async fn te_055_a_hop_that_lost_its_key_is_an_error_or_asks_the_layer() {
    let shop = sites();
    let request = |ask| request(Method::GET, &shop.world.tls_url("/near"), "", ask);
    let stack = Follow { inner: shop.stack.clone(), keeps_extensions: false };
    let error: Error = stack.oneshot(request(everywhere("k"))).await.err().unwrap();
    assert_eq!((error.refusal(), shop.seen().len()), (Some(&LeaseError::NoLeaseRequest), 1));

    let layer = EgressLayer::new(&shop.scheduler).with(|_| everywhere("k"));
    let stack = Follow { inner: layer.layer(shop.world.clone()), keeps_extensions: false };
    read(stack.oneshot(request(everywhere("k"))).await.unwrap()).await;
    let seen = shop.seen();
    assert_eq!((seen.len(), seen[1]), (3, seen[2]));
}

#[tokio::test(start_paused = true)]
async fn te_055_a_lease_of_an_earlier_hop_routes_nothing() {
    let shop = sites();
    let handle = first_lease(&shop).await;
    let stale = shop.world.exit(9).exit().route().clone();
    for key in ["one", "two", "three"] {
        let mut request = request(Method::GET, &shop.world.tls_url("/p"), "", everywhere(key));
        request.extensions_mut().insert(stale.clone());
        let (_, served) = read(shop.send(request).await.unwrap()).await;
        let held = shop.scheduler.lease(&everywhere(key).origin("shop.test")).unwrap().exit();
        assert_eq!((served.exit(), shop.seen().last().copied()), (held, Some(shop.place(held))));
    }
    let before = shop.seen().len();
    let mut request = request(Method::GET, &shop.world.tls_url("/p"), "", everywhere("k"));
    request.extensions_mut().insert(handle);
    let error = shop.send(request).await.err().unwrap();
    assert!(matches!(error.refusal(), Some(LeaseError::Misuse(_))), "{error}");
    assert_eq!(shop.seen().len(), before, "nothing was sent");
}

/// The handle of a lease that is over.
async fn first_lease(shop: &Shop) -> LeaseHandle {
    let (send, mut got) = tokio::sync::mpsc::unbounded_channel();
    let world = shop.world.clone();
    let client = tower::service_fn(move |request: Request<_>| {
        send.send(request.extensions().get::<LeaseHandle>().unwrap().clone()).unwrap();
        world.clone().oneshot(request)
    });
    let request = request(Method::GET, &shop.world.tls_url("/p"), "", LeaseRequest::per_request());
    read(EgressLayer::new(&shop.scheduler).layer(client).oneshot(request).await.unwrap()).await;
    got.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn te_055_each_hop_has_its_own_attempts() {
    // Chosen: a hop is a request of its own, to another page, and has all its attempts; what follows redirects bounds hops.
    let shop = sites();
    shop.world.origin().page("/near", redirect("https://shop.test/broken"));
    shop.world.origin().page("/broken", Reply::new(StatusCode::SERVICE_UNAVAILABLE));
    let stack = Follow { inner: shop.stack.clone(), keeps_extensions: true };
    let request = request(Method::GET, &shop.world.tls_url("/near"), "", everywhere("k"));
    let (status, served) = read(stack.oneshot(request).await.unwrap()).await;
    assert_eq!((status, served.attempts(), shop.seen().len()), (503, 4, 5));
}

#[tokio::test]
async fn te_109_a_redirect_to_another_host_goes_on_through_the_same_exit_and_login() {
    let login = Behaviour::fine().login(Credential::new("user", "secret").unwrap());
    let lab = Lab::builder().site("shop.test").site("pay.test").exits(5, login).start().await.unwrap();
    lab.origin().page("/far", redirect("http://pay.test/p"));
    let (_, client) = client(&lab);
    let stack = Follow { inner: client, keeps_extensions: true };
    for key in ["one", "two", "three"] {
        let (first, second) = (lab.origin().seen().len(), lab.site("pay.test").unwrap().seen().len());
        let request = request(Method::GET, &lab.url("/far"), "", everywhere(key));
        let answer = stack.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let exit = answer.extensions().get::<Served>().unwrap().exit();
        let hops = [lab.origin().seen()[first].clone(), lab.site("pay.test").unwrap().seen()[second].clone()];
        for hop in hops {
            assert_eq!(lab.exit_at(hop.peer()).unwrap().exit().id(), exit);
            assert!(!hop.headers().contains_key(PROXY_AUTHORIZATION), "the exit's alone");
        }
    }
    assert!((0..5).all(|exit| lab.exit(exit).traffic().refused_logins == 0));
}
