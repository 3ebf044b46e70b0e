use bytes::Bytes;
use http_body_util::Full;
use tower::{ServiceBuilder, service_fn};
use tower_egress::{ClassifyLayer, ExitAwareRetryLayer, ExitList, LeaseLayer, Scheduler};

fn scheduler() -> Scheduler {
    Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080").unwrap()).build().unwrap()
}

fn main() {
    let client = service_fn(|_: http::Request<_>| async {
        Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
    });
    let request = http::Request::new(Full::<Bytes>::default());
    let scheduler = scheduler();
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(LeaseLayer::new(&scheduler))
        .layer(tower_http::trace::TraceLayer::new_for_http())
        .service(client);
    drop(stack.oneshot(request));
}
