//! Right orders work. Wrong ones that types cannot tell fail on the first request, and name the right order;
//! `tests/compile` has those that do not compile.

use crate::support::*;
use http::Request;
use http::Response;
use http_body_util::Full;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_egress::{
    ClassifyLayer, EgressBody, EgressLayer, Error, ExitAwareRetryLayer, LeaseError, LeaseLayer, Next,
    Scheduler, Served,
};

const URI: &str = "https://shop.example/";

/// The misuse, which must be the program's fault and leave no lease out.
async fn misuse<S, B>(scheduler: &Scheduler, stack: S) -> &'static str
where
    S: Service<Req, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    let error: BoxError = stack.oneshot(get(URI)).await.err().expect("a wrong order").into();
    let error = Error::of(&*error).expect("the crate's own error");
    assert_eq!((error.next(), scheduler.snapshot().in_flight), (Next::Bug, 0));
    let Some(LeaseError::Misuse(why)) = error.refusal() else { panic!("{error:?}") };
    why
}

fn layers(scheduler: &Scheduler) -> (ExitAwareRetryLayer, LeaseLayer, ClassifyLayer) {
    (ExitAwareRetryLayer::new(scheduler), LeaseLayer::new(scheduler), ClassifyLayer::new())
}

#[tokio::test(start_paused = true)]
async fn retry_inside_lease() {
    let scheduler = scheduler(1);
    let (retry, lease, classify) = layers(&scheduler);
    let stack = ServiceBuilder::new().layer(lease).layer(retry).layer(classify).service(Script::default());
    assert!(misuse(&scheduler, stack).await.starts_with("ExitAwareRetryLayer is inside LeaseLayer"));
}

#[tokio::test(start_paused = true)]
async fn classify_without_lease() {
    let scheduler = scheduler(1);
    let (retry, _, classify) = layers(&scheduler);
    assert!(misuse(&scheduler, classify.layer(Script::default())).await.contains("no lease"));
    let stack = ServiceBuilder::new().layer(retry).layer(classify).service(Script::default());
    assert!(misuse(&scheduler, stack).await.contains("no lease"));
}

#[tokio::test(start_paused = true)]
async fn classify_outside_lease() {
    let scheduler = scheduler(1);
    let (_, lease, classify) = layers(&scheduler);
    let stack =
        ServiceBuilder::new().layer(classify.clone()).layer(lease).layer(classify).service(Script::default());
    assert!(misuse(&scheduler, stack).await.contains("ClassifyLayer goes inside LeaseLayer"));
}

#[tokio::test(start_paused = true)]
async fn two_lease_layers() {
    let scheduler = scheduler(1);
    let (_, lease, classify) = layers(&scheduler);
    let stack =
        ServiceBuilder::new().layer(lease.clone()).layer(lease).layer(classify).service(Script::default());
    assert!(misuse(&scheduler, stack).await.contains("one LeaseLayer"));
}

#[tokio::test(start_paused = true)]
async fn two_classify_layers() {
    let scheduler = scheduler(1);
    let (_, lease, classify) = layers(&scheduler);
    let stack =
        ServiceBuilder::new().layer(lease).layer(classify.clone()).layer(classify).service(Script::default());
    assert!(misuse(&scheduler, stack).await.contains("already used"));
}

#[tokio::test(start_paused = true)]
async fn no_classify_layer_behind_a_boxed_error() {
    let scheduler = scheduler(1);
    let (retry, lease, _) = layers(&scheduler);
    let stack = ServiceBuilder::new()
        .layer(retry)
        .layer(lease)
        .timeout(std::time::Duration::from_secs(1))
        .service(Script::new([status(200)]));
    assert!(misuse(&scheduler, stack).await.contains("never classified"));
}

#[tokio::test(start_paused = true)]
async fn two_schedulers() {
    let (one, two) = (scheduler(1), scheduler(1));
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&one))
        .layer(LeaseLayer::new(&two))
        .layer(ClassifyLayer::new())
        .service(Script::default());
    assert!(misuse(&one, stack).await.contains("two schedulers"));
}

#[tokio::test(start_paused = true)]
async fn of_two_retry_layers_the_outer_one_acts() {
    let scheduler = scheduler(8);
    let (retry, lease, classify) = layers(&scheduler);
    let script = Script::new([503, 503, 503, 503].map(status));
    let stack = ServiceBuilder::new()
        .layer(retry.clone())
        .layer(retry)
        .layer(lease)
        .layer(classify)
        .service(script.clone());
    let response = stack.oneshot(get(URI)).await.unwrap();
    assert_eq!(script.sent().len(), 4, "not 16");
    assert_eq!(response.extensions().get::<Served>().unwrap().attempts(), 4);
    assert_eq!(heard().matches("an ExitAwareRetryLayer inside another does not retry").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_inside_lease_is_a_second_use() {
    let scheduler = scheduler(1);
    let (_, lease, classify) = layers(&scheduler);
    let twice = |inner| Twice(inner);
    let stack = ServiceBuilder::new()
        .layer(lease)
        .layer_fn(twice)
        .layer(classify)
        .service(Script::new([status(200)]));
    assert!(misuse(&scheduler, stack).await.contains("already used"));
}

/// Calls twice below the lease.
#[derive(Clone)]
struct Twice<S>(S);

impl<S> Service<Req> for Twice<S>
where
    S: Service<Req> + Clone + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<S::Response, S::Error>>>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move {
            let mut again = Request::new(Full::default());
            *again.extensions_mut() = request.extensions().clone();
            inner.clone().oneshot(request).await?;
            inner.oneshot(again).await
        })
    }
}

/// One refusal, one retry through another exit, and the stack holds nothing afterwards.
macro_rules! works {
    ($scheduler:ident, $row:literal, $layers:expr) => {{
        let $scheduler = scheduler(8);
        let script = Script::new([status(403), status(200)]);
        let stack = $layers.service(script.clone());
        let response = stack.oneshot(get(URI)).await.unwrap_or_else(|error| panic!("{}: {error:?}", $row));
        let exits = script.exits();
        assert_eq!((response.status().as_u16(), exits.len()), (200, 2), "{}", $row);
        assert_ne!(exits[0], exits[1], "{}", $row);
        assert_eq!(response.extensions().get::<Served>().unwrap().attempts(), 2, "{}", $row);
        drop(response);
        let now = $scheduler.snapshot();
        assert_eq!((now.in_flight, now.outcomes.total()), (0, 2), "{}", $row);
    }};
}

#[tokio::test(start_paused = true)]
async fn every_right_order_retries_through_another_exit_and_holds_nothing() {
    use std::time::Duration;
    use tower_http::trace::TraceLayer;

    let second = Duration::from_secs(1);
    let trace = TraceLayer::new_for_http;
    let classify = ClassifyLayer::new;
    let retry = |scheduler: &Scheduler| ExitAwareRetryLayer::new(scheduler);
    let lease = |scheduler: &Scheduler| LeaseLayer::new(scheduler);
    let new = ServiceBuilder::new;
    works!(s, "retry > lease > classify", new().layer(retry(&s)).layer(lease(&s)).layer(classify()));
    works!(
        s,
        "trace > retry > lease > classify > timeout > limit",
        new()
            .layer(trace())
            .layer(retry(&s))
            .layer(lease(&s))
            .layer(classify())
            .timeout(second)
            .concurrency_limit(1)
    );
    works!(
        s,
        "retry > trace > lease > limit > classify > timeout",
        new()
            .layer(retry(&s))
            .layer(trace())
            .layer(lease(&s))
            .concurrency_limit(1)
            .layer(classify())
            .timeout(second)
    );
    works!(
        s,
        "timeout > limit > trace > retry > lease > classify",
        new()
            .timeout(second)
            .concurrency_limit(1)
            .layer(trace())
            .layer(retry(&s))
            .layer(lease(&s))
            .layer(classify())
    );
    works!(
        s,
        "shed > limit > retry > lease > classify",
        new().load_shed().concurrency_limit(1).layer(retry(&s)).layer(lease(&s)).layer(classify())
    );
    works!(
        s,
        "retry > lease > trace > timeout > classify",
        new().layer(retry(&s)).layer(lease(&s)).layer(trace()).timeout(second).layer(classify())
    );
    works!(
        s,
        "retry > timeout > lease > classify",
        new().layer(retry(&s)).timeout(second).layer(lease(&s)).layer(classify())
    );
}

#[tokio::test(start_paused = true)]
async fn classify_outside_lease_behind_boxes() {
    let (scheduler, second) = (scheduler(1), std::time::Duration::from_secs(1));
    let (retry, lease, classify) = layers(&scheduler);
    let stack = ServiceBuilder::new()
        .layer(retry)
        .layer(classify)
        .timeout(second)
        .layer(lease)
        .timeout(second)
        .service(Script::new([status(200)]));
    assert!(misuse(&scheduler, stack).await.contains("no lease"));
}

/// A server's body goes out as it came: nothing has to be cloned for an attempt that may not be repeated.
#[allow(dead_code, reason = "that it compiles is the test")]
fn a_request_of_a_server_passes_through(
    stack: &EgressLayer,
    request: Request<axum::body::Body>,
) -> impl Future<Output = Result<Response<EgressBody<Full<bytes::Bytes>>>, Error>> {
    let client = tower::service_fn(|_: Request<tower_egress::retry::ReplayBody<axum::body::Body>>| async {
        Ok::<_, std::io::Error>(Response::new(Full::default()))
    });
    stack.layer(client).oneshot(request)
}
