//! A request as an origin saw it.

use super::digest::BodyDigest;
use http::request::Parts;
use http::{HeaderMap, Method, Version};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A request as it comes in.
pub(super) struct Arrival {
    pub(super) peer: IpAddr,
    pub(super) tls: bool,
    pub(super) head: Parts,
    pub(super) body: BodyDigest,
}

/// A request as an origin saw it. A clone is a reference count.
#[derive(Clone)]
pub struct SeenRequest(Arc<Inner>);

struct Inner {
    number: u64,
    peer: IpAddr,
    at: Duration,
    tls: bool,
    version: Version,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: BodyDigest,
}

impl SeenRequest {
    pub(super) fn new(arrival: Arrival, number: u64, at: Duration) -> Self {
        let Arrival { peer, tls, head, body } = arrival;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let Parts { method, version, headers, .. } = head;
        Self(Arc::new(Inner { number, peer, at, tls, version, method, path, headers, body }))
    }

    /// Its place in the order of arrival at this origin, from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// The address it came from: the exit's [`source`](super::LabExit::source), or 127.0.0.1 if somebody went direct.
    #[must_use]
    pub fn peer(&self) -> IpAddr {
        self.0.peer
    }

    /// When it came, since the lab was started.
    #[must_use]
    pub fn at(&self) -> Duration {
        self.0.at
    }

    /// Whether it came through TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.tls
    }

    /// The protocol's version. In memory the one that the request was given, which nothing carries out.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// The path, with its query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The headers, as they arrived at the origin.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// How many bytes of body came.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        self.0.body.len
    }

    /// SHA-1 of the body, to tell whether the same one came twice.
    #[must_use]
    pub fn body_sha1(&self) -> [u8; 20] {
        self.0.body.sha1
    }
}

/// Leaves out what headers say: they may hold logins.
impl fmt::Debug for SeenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { number, peer, at, tls, version, method, path, body, .. } = &*self.0;
        f.debug_struct("SeenRequest")
            .field("number", number)
            .field("peer", peer)
            .field("at", at)
            .field("tls", tls)
            .field("version", version)
            .field("method", method)
            .field("path", path)
            .field("body_len", &body.len)
            .finish_non_exhaustive()
    }
}
