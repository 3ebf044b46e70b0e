//! The service: finds the client of the request's exit, or makes it.

use super::clients::Clients;
use super::error::PerExitError;
use crate::error::BoxError;
use crate::exit::{ExitId, Route};
use http::Request;
use parking_lot::Mutex;
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower::util::Oneshot;
use tower::{Service, ServiceExt as _};

/// How many clients are kept unless [`PerExit::max_clients`] says otherwise.
const MAX_CLIENTS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// One client of any kind per exit. It goes inside the three layers, where [`ExitClient`](crate::client::ExitClient) would,
/// and takes the exit from the request's [`Route`] extension; a request without one is refused.
///
/// What it keeps is shared by its clones, and found by the whole route, login included: a new password never rides a
/// client that was made with the old one, and takes its place. Where each connection leads to another address
/// ([`Route::is_fresh`]) a client is made for the one request and not kept, so that none of its connections is used again.
///
/// It is always ready; the client is waited for by the request.
///
/// # Making clients
/// `make` runs in the request's own task, under no lock. It should neither block nor wait: a client of hyper-util takes
/// microseconds, one of reqwest with TLS some milliseconds. Of requests that meet a missing client at once none waits for
/// another: each makes one, on its own thread, and all use the one that was ready first. If `make` panics only that request
/// is lost.
///
/// # Errors
/// [`PerExitError`]: the request names no exit, `make` failed, or the client's own.
///
/// # Cancel safety
/// Dropping the future drops the client's. A client that was made for it is kept.
pub struct PerExit<S> {
    /// Without its own type: a closure's that returns a boxed error would keep a stack out of `tokio::spawn(async { .. })`.
    make: Arc<Make<S>>,
    /// Each client has a lock of its own, under which it is cloned: the shared one never waits for foreign code, and a
    /// client need not be `Sync`.
    clients: Arc<Mutex<Clients<Arc<Mutex<S>>>>>,
}

type Make<S> = dyn Fn(&Route) -> Result<S, BoxError> + Send + Sync;

impl<S> PerExit<S> {
    /// Makes clients with this, each for a route, and through nothing but it.
    #[must_use]
    pub fn new(
        make: impl Fn(&Route) -> Result<S, Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), clients: shared(MAX_CLIENTS) }
    }

    /// Most clients that are kept; 256 by default. The one that was used least recently goes first, with its idle
    /// connections; requests that use it then run to their end. It begins with none: clones made before keep theirs.
    ///
    /// A bound is needed because tokens of a gateway have no end: a million kept clients of hyper-util are 1.2 GB before the
    /// first socket, and of reqwest 4 GB. It should be above the number of exits that are in use at
    /// once; below it each request may pay for a new client and connection.
    #[must_use]
    pub fn max_clients(self, max: NonZeroUsize) -> Self {
        Self { clients: shared(max), ..self }
    }

    /// Forgets the client of an exit, whatever its login, so that its idle connections close; whether there was one. For an
    /// exit that is burned or taken out of the pool. Requests that use it, or are making it, are not disturbed: one that is
    /// being made is kept.
    #[expect(clippy::must_use_candidate, reason = "it acts")]
    pub fn evict(&self, exit: ExitId) -> bool {
        // Dropped after the lock.
        let gone = self.clients.lock().remove(exit);
        gone.is_some()
    }

    /// How many clients are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clients.lock().len()
    }

    /// Whether no client is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn shared<S>(max: NonZeroUsize) -> Arc<Mutex<Clients<S>>> {
    Arc::new(Mutex::new(Clients::new(max)))
}

impl<S: Clone> PerExit<S> {
    fn client(&self, route: &Route) -> Result<S, BoxError> {
        if route.is_fresh() {
            return (self.make)(route);
        }
        if let Some(kept) = self.kept(route) {
            return Ok(kept);
        }
        let made = (self.make)(route)?;
        let kept = Arc::new(Mutex::new(made.clone()));
        let mut clients = self.clients.lock();
        // Somebody may have been faster. Two clients of one exit would share no connections.
        let first = clients.get(route).cloned();
        // A client is kept for longer than an attempt lasts.
        let mut route = route.clone();
        route.take_bill();
        let gone = if first.is_none() { clients.insert(route, kept) } else { None };
        drop(clients);
        drop(gone);
        Ok(first.map_or(made, |first| first.lock().clone()))
    }

    fn kept(&self, route: &Route) -> Option<S> {
        let kept = self.clients.lock().get(route).cloned();
        kept.map(|client| client.lock().clone())
    }
}

impl<S, B> Service<Request<B>> for PerExit<S>
where
    S: Service<Request<B>> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = PerExitError;
    type Future = PerExitFuture<S, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), PerExitError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(route) = request.extensions().get::<Route>() else {
            return PerExitFuture { state: State::Refused(Some(PerExitError::no_route())) };
        };
        let state = match self.client(route) {
            Ok(client) => State::Sent(client.oneshot(request)),
            Err(cause) => State::Refused(Some(PerExitError::not_made(cause))),
        };
        PerExitFuture { state }
    }
}

impl<S> Clone for PerExit<S> {
    fn clone(&self) -> Self {
        Self { make: Arc::clone(&self.make), clients: Arc::clone(&self.clients) }
    }
}

impl<S> fmt::Debug for PerExit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The clients themselves may print the logins they were made with.
        let clients = self.clients.lock();
        f.debug_struct("PerExit")
            .field("clients", &clients.len())
            .field("max", &clients.max())
            .finish_non_exhaustive()
    }
}

/// The future of [`PerExit`].
#[pin_project]
pub struct PerExitFuture<S: Service<Request<B>>, B> {
    #[pin]
    state: State<S, B>,
}

#[pin_project(project = StateProj)]
enum State<S: Service<Request<B>>, B> {
    Sent(#[pin] Oneshot<S, Request<B>>),
    Refused(Option<PerExitError>),
}

impl<S, B> Future for PerExitFuture<S, B>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<S::Response, PerExitError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Sent(answer) => {
                Poll::Ready(ready!(answer.poll(cx)).map_err(|error| PerExitError::Client(error.into())))
            }
            StateProj::Refused(error) => Poll::Ready(Err(error.take().expect("polled after completion"))),
        }
    }
}

impl<S: Service<Request<B>>, B> fmt::Debug for PerExitFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerExitFuture").finish_non_exhaustive()
    }
}
