//! The whole, boxed: one type that fits a struct field or an axum `State`.

use super::{ExitClient, IncomingBody};
use crate::body::Body;
use crate::classify::EgressBody;
use crate::error::Error;
use crate::scheduler::Scheduler;
use crate::stack::EgressLayer;
use http::{Request, Response};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

/// The body of a response that came through [`ExitClient`] and the layers.
pub type ResponseBody = EgressBody<IncomingBody>;

/// [`EgressLayer`] around [`ExitClient`], or a stack of your own, boxed: `Clone`, `Send` and `Sync`. `B` is the body of its
/// responses; a stack with tower-http's `Trace` or around a client of your own has another than the default one.
///
/// ```
/// use tower_egress::{EgressClient, ExitList, Scheduler};
///
/// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
/// let client = EgressClient::new(&scheduler);
/// fn state<T: Clone + Send + Sync + 'static>(_: T) {}
/// state(client); // as an axum State wants it
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
pub struct EgressClient<B = ResponseBody>(BoxCloneSyncService<Request<Body>, Response<B>, Error>);

impl EgressClient {
    /// The default stack.
    #[must_use]
    pub fn new(scheduler: &Scheduler) -> Self {
        Self::of(EgressLayer::new(scheduler).layer(ExitClient::new()))
    }
}

impl<B: 'static> EgressClient<B> {
    /// A stack of your own. Its error may be the boxed one of tower's own layers: an egress error comes out of its box, any
    /// other becomes [`Error::other`].
    pub fn of<S>(stack: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>>,
        S: Clone + Send + Sync + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send + 'static,
    {
        Self(BoxCloneSyncService::new(stack.map_err(Error::other)))
    }

    /// Waits until the stack is ready and sends one request.
    ///
    /// ```
    /// # #[cfg(feature = "lab")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tower_egress::lab::Lab;
    /// use tower_egress::{Body, EgressClient, LeaseRequest, Scheduler};
    ///
    /// let lab = Lab::builder().fine(3).start().await?; // instead of a list of real exits
    /// let scheduler = Scheduler::builder().exits(lab.exits()).build()?;
    /// let client = EgressClient::new(&scheduler);
    ///
    /// let request = http::Request::get(lab.url("/p/42")).extension(LeaseRequest::new("sku-42"));
    /// let response = client.send(request.body(Body::empty())?).await?;
    /// assert_eq!(response.status(), 200);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "lab"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// Why there is no answer: [`Error::next`] says what to do about it.
    ///
    /// # Cancel safety
    /// Dropping the future ends the attempt that is under way and gives its lease back.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<B>, Error> {
        self.clone().oneshot(request).await
    }
}

impl<B> Clone for EgressClient<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: 'static> Service<Request<Body>> for EgressClient<B> {
    type Response = Response<B>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.0.call(request)
    }
}

impl<B> fmt::Debug for EgressClient<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressClient").finish_non_exhaustive()
    }
}
