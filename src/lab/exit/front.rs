//! How a proxy is spoken to, and what its protocols have in common.

use super::forward::dial;
use super::{serve as http1, socks};
use crate::exit::Via;
use crate::lab::network::Network;
use crate::lab::proxy::Proxy;
use crate::lab::tls::Authority;
use crate::lab::wire::{Hangup, Wire};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// The name that the certificates of HTTPS proxies hold beside their addresses.
const NAME: &str = "proxy.test";

/// The protocol of a proxy's port.
#[derive(Clone)]
pub(in crate::lab) enum Front {
    Http,
    Https(TlsAcceptor),
    Socks,
}

impl Front {
    /// For a proxy at this address; `None` for an own address, which is none.
    pub(in crate::lab) fn new(via: Via, authority: &Authority, ip: IpAddr) -> io::Result<Option<Self>> {
        Ok(Some(match via {
            Via::Http => Self::Http,
            Via::Https => {
                let ip = ip.to_string();
                Self::Https(authority.acceptor(&[NAME, &ip])?)
            }
            Via::Socks5 | Via::Socks5h => Self::Socks,
            Via::Socks4 | Via::Socks4a => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "a lab's proxies do not speak SOCKS4",
                ));
            }
            Via::Local => return Ok(None),
        }))
    }
}

/// A client's visit at a proxy.
pub(super) struct Visit<P> {
    pub(super) proxy: P,
    /// How many connections there were before.
    pub(super) number: u64,
    pub(super) hangup: Arc<Hangup>,
    network: Arc<Network>,
}

pub(in crate::lab) async fn serve<P: Proxy>(
    proxy: P,
    front: Front,
    network: Arc<Network>,
    stream: TcpStream,
) {
    let number = proxy.tally().connection();
    let wire = Wire::new(stream, Arc::clone(proxy.tally().meter()));
    let visit = Visit { proxy, number, hangup: wire.hangup(), network };
    match front {
        Front::Http => http1::serve(visit, wire).await,
        Front::Https(tls) => {
            // A client that does not trust the lab's root ends here.
            if let Ok(stream) = tls.accept(wire).await {
                http1::serve(visit, stream).await;
            }
        }
        Front::Socks => socks::serve(visit, wire).await,
    }
}

/// Why an origin was not reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unreached {
    /// No such host in the lab.
    Unknown,
    /// The host has nothing at this port.
    Refused,
}

impl<P: Proxy> Visit<P> {
    /// Connects to an origin of the lab for a tunnel.
    pub(super) async fn reach(&self, host: &str, port: u16, source: IpAddr) -> Result<TcpStream, Unreached> {
        self.proxy.tally().target(host);
        match self.network.address(host, port) {
            Some(to) => dial(source, to).await.map_err(|_| Unreached::Refused),
            None if self.network.knows(host) => Err(Unreached::Refused),
            None => Err(Unreached::Unknown),
        }
    }

    pub(super) fn network(&self) -> &Network {
        &self.network
    }
}
