//! A policy for tower-http's `FollowRedirect` (feature `tower-http`).
//!
//! `FollowRedirect` goes outside the whole stack, so that every hop leases for the site it goes to. Its standard policy
//! drops all extensions on the way to another site, the [`LeaseRequest`] too; and headers of the first site go on.
//! [`Redirects`] knows which of both may travel.
//!
//! | at a hop | to the same origin | to another (host, port or scheme) |
//! |---|---|---|
//! | the lease request: key, identity, deadline | goes on | goes on; an origin that it names does not |
//! | other extensions | go on | are dropped, but for [`allow_extension`](Redirects::allow_extension)'s |
//! | `Authorization`, `Cookie`, `Proxy-Authorization`, headers marked sensitive | go on | are dropped, and stay so |
//! | `Host`, if the request has one | goes on | is dropped |
//! | a user and password in the URL | are dropped | are dropped |
//!
//! So an identity keeps its exit over all sites of a login, and a windowed key has one at each site. A request that holds
//! nothing leaves through another exit at each hop: what must keep its address takes a key. Each hop has attempts and a
//! deadline of its own, and [`Served`](crate::Served) tells of the last one.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_egress::{EgressLayer, ExitList, LeaseRequest, Scheduler, redirect::Redirects};
//! use tower_http::follow_redirect::FollowRedirectLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let client = ServiceBuilder::new()
//!     .layer(FollowRedirectLayer::with_policy(Redirects::new()))
//!     .layer(EgressLayer::new(&scheduler))
//!     .service(service_fn(|request: Request<_>| async move {
//!         let moved = request.uri().host() == Some("shop.example");
//!         let answer = Response::builder().status(if moved { 302 } else { 200 });
//!         let answer = answer.header("location", "https://www.shop.example/");
//!         Ok::<_, std::io::Error>(answer.body(Full::<Bytes>::default()).expect("valid"))
//!     }));
//! let request = Request::get("https://shop.example/").extension(LeaseRequest::new("sku-42"));
//! let response = client.oneshot(request.body(Full::<Bytes>::default())?).await?;
//! assert_eq!(response.status(), 200);
//! # Ok(())
//! # }
//! ```

use crate::request::{LeaseRequest, Origin};
use http::header::{HOST, HeaderName};
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, Request};
use tower_http::follow_redirect::policy::{Action, Attempt, FilterCredentials, Policy};

/// Most hops unless told otherwise: reqwest's and tower-http's own default.
const MAX_HOPS: u8 = 10;

/// Follows redirects with the lease and without credentials; see the [module](self).
///
/// After the last hop that may be followed, and at a `Location` that is neither http nor https, the redirect itself is the
/// answer. A request whose body must be sent again (307, 308) is followed if the policy can clone it: combine it with
/// tower-http's `clone_body_fn`, for a [`Body`](crate::Body) with [`Body::try_clone`](crate::Body::try_clone). In an `or` it
/// goes first: what follows unasked is not seen here.
#[derive(Clone, Debug)]
pub struct Redirects {
    left: u8,
    /// Asked only at a hop to another origin, so that one comparison of sites decides for all.
    filter: FilterCredentials,
    /// The request is a hop, and no longer the caller's own.
    hops: bool,
    /// The hop leads to another origin.
    crosses: bool,
}

impl Redirects {
    /// At most ten hops.
    #[must_use]
    pub fn new() -> Self {
        let filter = FilterCredentials::new().block_any().allow_extension::<LeaseRequest>();
        Self { left: MAX_HOPS, filter, hops: false, crosses: false }
    }

    /// Sets how many hops are followed; 0 follows none.
    #[must_use]
    pub const fn max_hops(mut self, hops: u8) -> Self {
        self.left = hops;
        self
    }

    /// Lets extensions of this type travel to other origins.
    #[must_use]
    pub fn allow_extension<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        self.filter = self.filter.allow_extension::<T>();
        self
    }
}

impl Default for Redirects {
    fn default() -> Self {
        Self::new()
    }
}

impl<B, E> Policy<B, E> for Redirects {
    fn redirect(&mut self, attempt: &Attempt<'_>) -> Result<Action, E> {
        // First, for another policy may follow what this one does not.
        let site = |uri: &Uri| (uri.scheme().cloned(), Origin::of(uri));
        self.crosses = site(attempt.previous()) != site(attempt.location());
        self.hops = true;
        let follow = Policy::<B, E>::redirect(&mut self.filter, attempt)?;
        let web = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&attempt.location().scheme());
        let Some(left) = self.left.checked_sub(1).filter(|_| web) else { return Ok(Action::Stop) };
        self.left = left;
        Ok(follow)
    }

    fn on_request(&mut self, request: &mut Request<B>) {
        if self.hops {
            forget_login(request.uri_mut());
        }
        if !self.crosses {
            return;
        }
        Policy::<B, E>::on_request(&mut self.filter, request);
        strip(request.headers_mut());
        if let Some(ask) = request.extensions_mut().get_mut::<LeaseRequest>() {
            ask.origin = None; // named for the site that was left
        }
    }
}

/// What belongs to the site that was left, beside what tower-http's filter knows.
fn strip(headers: &mut HeaderMap) {
    headers.remove(HOST);
    let marked =
        |(name, value): (&HeaderName, &http::HeaderValue)| value.is_sensitive().then(|| name.clone());
    let secret: Vec<_> = headers.iter().filter_map(marked).collect();
    for name in secret {
        headers.remove(name);
    }
}

/// A site that redirects to `https://user:password@…` gives us a login that is not ours.
fn forget_login(uri: &mut Uri) {
    let mut parts = uri.clone().into_parts();
    let address = parts.authority.as_ref().and_then(|given| Some(given.as_str().rsplit_once('@')?.1));
    let Some(Ok(address)) = address.map(Authority::try_from) else { return };
    parts.authority = Some(address);
    if let Ok(plain) = Uri::from_parts(parts) {
        *uri = plain;
    }
}
