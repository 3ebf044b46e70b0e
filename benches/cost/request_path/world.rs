//! The two worlds, and a page through one of them.

use super::far::{Far, ORIGIN};
use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;
use tower_egress::ExitList;

/// How exits are used.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum World {
    /// Plain http, in absolute-form through a forward proxy.
    Forward,
    /// CONNECT, and TLS to the origin in the tunnel.
    Tunnel,
}

pub(crate) const WORLDS: [World; 2] = [World::Forward, World::Tunnel];

impl World {
    /// A page of the origin.
    pub(crate) fn page(self) -> String {
        let scheme = match self {
            Self::Forward => "http",
            Self::Tunnel => "https",
        };
        format!("{scheme}://{ORIGIN}/p/42")
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "http",
            Self::Tunnel => "https",
        })
    }
}

/// A client with all its exits.
pub(crate) trait Client: Send + Sync + 'static {
    /// Fetches the page and reads it to its end. The exit is the turn's, if the client does not choose by itself.
    fn page(&self, turn: usize) -> impl Future<Output = ()> + Send;
}

/// Reads a body to its end.
pub(crate) async fn read<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Debug,
{
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame.expect("a frame").data_ref().map_or(0, Bytes::len);
    }
    assert_eq!(bytes, 13, "the whole page");
}

/// The exits as the crate takes them.
pub(crate) fn list(far: &Far) -> ExitList {
    let lines: Vec<_> = far.exits.iter().map(ToString::to_string).collect();
    ExitList::parse(&lines.join("\n")).expect("a list")
}

/// Trusts the far side's origin alone, and resumes nothing, as `ExitClient` does.
pub(crate) fn trust(far: &Far) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(far.root_pem.as_bytes()).expect("PEM")).expect("a root");
    let mut tls =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions that ring has")
            .with_root_certificates(roots)
            .with_no_client_auth();
    tls.resumption = Resumption::disabled();
    tls
}

/// One thread: what it spends is the client's.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Fetches so many pages, so many at a time; the turns go on from `next`.
pub(crate) fn fetch<C: Client>(
    runtime: &Runtime,
    client: &Arc<C>,
    next: &Arc<AtomicUsize>,
    pages: usize,
    in_flight: usize,
) {
    let end = next.load(Ordering::Relaxed) + pages;
    let worker = || {
        let (client, next) = (Arc::clone(client), Arc::clone(next));
        async move {
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn >= end {
                    return;
                }
                client.page(turn).await;
            }
        }
    };
    runtime.block_on(async {
        let workers: Vec<_> = (0..in_flight).map(|_| tokio::spawn(worker())).collect();
        for worker in workers {
            worker.await.expect("a page");
        }
    });
}
