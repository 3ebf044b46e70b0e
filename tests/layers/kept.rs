//! What is kept of a request once it is over.

use crate::support::*;
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tower::Layer;
use tower_egress::{EgressLayer, LeaseRequest, Served};

/// Where a caller wants to find how its request was served: in an extension of the request.
#[derive(Clone, Default)]
struct Note(Arc<OnceLock<Served>>);

fn noted() -> (Req, Weak<OnceLock<Served>>, Note) {
    let note = Note::default();
    let mut request = get("https://shop.example/p/42");
    request.extensions_mut().insert(note.clone());
    (request, Arc::downgrade(&note.0), note)
}

#[tokio::test(start_paused = true)]
async fn a_requests_extensions_go_with_the_request_and_not_with_its_answer() {
    for steps in [
        vec![status(200)],
        vec![status(403), status(200)],
        vec![status(403), status(403), status(403), status(403)],
    ] {
        let stack = EgressLayer::new(&scheduler(8)).layer(Script::new(steps));
        let (request, kept, note) = noted();
        let response = stack.oneshot(request).await.unwrap();
        let served = response.extensions().get::<Served>().unwrap().clone();
        assert_eq!(kept.strong_count(), 1, "the answer is there, with its body unread");
        note.0.set(served.clone()).unwrap();
        drop((note, response));
        assert!(kept.upgrade().is_none(), "after {} attempts", served.attempts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_requests_extensions_go_with_its_future() {
    let stack = EgressLayer::new(&scheduler(8)).layer(Script::new([status(403), Step::Hang]));
    let (request, kept, note) = noted();
    let mut answer = Box::pin(stack.oneshot(request));
    drop(note);
    for _ in 0..20 {
        assert!(poll_once(&mut answer).await.is_pending());
        tokio::time::advance(Duration::from_millis(50)).await;
    }
    assert!(kept.upgrade().is_some(), "it is sent again with them");
    drop(answer);
    assert!(kept.upgrade().is_none());
}

/// Says when the text of a URI is gone.
struct Text(Vec<u8>, Arc<AtomicBool>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn an_origin_does_not_keep_a_long_url() {
    let gone = Arc::new(AtomicBool::new(false));
    let url = format!("https://shop.example/{}", "x".repeat(60_000)).into_bytes();
    let uri = Uri::from_maybe_shared(Bytes::from_owner(Text(url, Arc::clone(&gone)))).unwrap();
    let stack = EgressLayer::new(&scheduler(1)).layer(Script::new([status(200)]));
    let request = Request::get(uri).extension(LeaseRequest::per_request()).body(Full::<Bytes>::default());
    let response = stack.oneshot(request.unwrap()).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    drop(response);
    assert!(gone.load(Ordering::SeqCst), "{served:?} keeps 60 kB");
}
