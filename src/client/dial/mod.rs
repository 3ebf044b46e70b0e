//! Establishing a connection: name, TCP, TLS to the exit, tunnel, TLS to the origin. Each stage has its limit, and one deadline
//! lies over all of them.

mod connect;
mod origin_tls;
mod resolve;
mod socks;
mod socks4;
mod tcp;

pub(super) use origin_tls::OriginTls;
pub(super) use resolve::Resolver;
pub use resolve::{Resolve, Resolving};

use super::connection::{Connection, Protocol};
use super::distrust::not_let_in;
use super::target::{Target, Way};
use super::watched::{Stream, Watched};
use crate::exit::{ProxyTls, Route, Via};
use crate::outcome::{Counts, Egress, Failure, Phase, Seen};
use connect::Refusal;
pub(super) use connect::keep_phrase;
use rustls::pki_types::ServerName;
use socks::To;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long each stage may take, and all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A look-up; and TCP over all addresses.
    pub(super) connect: Duration,
    /// TLS to the exit; and the tunnel.
    pub(super) tunnel: Duration,
    /// TLS to the origin.
    pub(super) tls: Duration,
    pub(super) establish: Duration,
}

/// How connections are established.
pub(super) struct Dialer {
    pub(super) limits: Limits,
    pub(super) resolver: Resolver,
    pub(super) origin_tls: OriginTls,
    /// For exits that bring none of their own. The platform's roots are read when the first of them is dialled.
    pub(super) proxy_tls: OnceLock<Option<ProxyTls>>,
    /// Plain requests go through a tunnel, too.
    pub(super) tunnel_http: bool,
}

/// Why there is no connection.
enum Failed {
    Failed(Failure),
    /// The proxy refused; what it says may not be read yet.
    Refused(Box<Refusal>),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// How far an attempt came, for the failure that a timeout makes of it.
struct Progress {
    phase: Phase,
    login_accepted: bool,
    /// What the proxy has said of its exit.
    egress: Option<Egress>,
    wire: Arc<Counts>,
}

impl Progress {
    /// Runs a stage within its limit.
    async fn stage<T, E: Into<Failed>>(
        &mut self,
        phase: Phase,
        limit: Duration,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Failed> {
        self.phase = phase;
        match timeout(limit, work).await {
            Ok(done) => done.map_err(Into::into),
            Err(_) => Err(self.timed_out().into()),
        }
    }

    fn timed_out(&self) -> Failure {
        Failure::new(self.phase, Seen::Never).login_accepted(self.login_accepted).timed_out()
    }
}

impl Dialer {
    /// Connects to the exit, and through it to the origin unless requests are put to the exit itself.
    ///
    /// `wire` counts the bytes; those of a dial that fails are its failure's. Dropping the future closes the socket.
    pub(super) async fn dial(
        &self,
        route: &Route,
        target: &Target,
        wire: Arc<Counts>,
    ) -> Result<Connection, Failure> {
        let counts = Arc::clone(&wire);
        let mut progress =
            Progress { phase: Phase::ExitDns, login_accepted: false, egress: None, wire: counts };
        let established = timeout(self.limits.establish, self.establish(route, target, &mut progress)).await;
        let failure = match established {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(Failed::Failed(failure))) => failure,
            // Outside the deadline: what the proxy says must not get lost to it, and has a limit of its own.
            Ok(Err(Failed::Refused(refusal))) => refusal.read().await,
            Err(_) => progress.timed_out(),
        };
        Err(failure.after(wire.take()))
    }

    async fn establish(
        &self,
        route: &Route,
        target: &Target,
        progress: &mut Progress,
    ) -> Result<Connection, Failed> {
        // What cannot work is not dialled for.
        let name = target.server_name()?;
        if name.is_some() {
            self.origin_tls.check()?;
        }
        let to = || To::host(target.host(), target.port());
        match route.via() {
            Via::Socks5h => drop(to().request()?),
            Via::Socks4a => drop(socks4::request(route.credential(), &to())?),
            _ => {}
        }
        let evictions = route.keepers().evictions();
        let tcp = self.reach(route, target, progress).await?;
        let wire = Arc::clone(&progress.wire);
        let mut stream: Stream = Box::new(Watched::counted(Arc::clone(&wire), tcp));
        if route.via() == Via::Https {
            let work = self.exit_handshake(route, stream);
            stream = progress.stage(Phase::ExitTls, self.limits.tunnel, work).await?;
        }
        stream = self.tunnel(route, target, stream, progress).await?;
        let Some(name) = name else {
            let told = (wire, evictions, progress.egress.take());
            return Ok(Connection::start(stream, Protocol::Http1, told).await?);
        };
        let work = self.origin_tls.handshake(route, name, stream);
        let tls = progress.stage(Phase::OriginTls, self.limits.tls, work).await.map_err(|failed| {
            let Failed::Failed(failure) = failed else { return failed };
            // Whoever speaks with the origin has been let in.
            Failed::Failed(failure.login_accepted(progress.login_accepted))
        })?;
        let protocol =
            if tls.get_ref().1.alpn_protocol() == Some(b"h2") { Protocol::Http2 } else { Protocol::Http1 };
        Ok(Connection::start(Box::new(tls), protocol, (wire, evictions, progress.egress.take())).await?)
    }

    /// TCP to the exit; from an own address, to the origin.
    async fn reach(
        &self,
        route: &Route,
        target: &Target,
        progress: &mut Progress,
    ) -> Result<TcpStream, Failed> {
        let limit = self.limits.connect;
        let from = route.local();
        let (dns, tcp, host, port) = match from {
            Some(_) => (Phase::OriginDns, Phase::OriginTcp, target.host(), target.port()),
            None => (Phase::ExitDns, Phase::ExitTcp, route.host(), route.port()),
        };
        let look_up = self.resolver.addresses(dns, host, port);
        let mut addresses = progress.stage(dns, limit, look_up).await?;
        if let Some(from) = from {
            addresses.retain(|address| address.is_ipv4() == from.is_ipv4());
            if addresses.is_empty() {
                let why = format!("{host} has no address of the family of the exit, {from}");
                return Err(Failure::new(dns, Seen::Never).because(why).into());
            }
        }
        // The connect divides the limit among the addresses itself.
        progress.phase = tcp;
        Ok(tcp::connect(tcp, &addresses, from, limit).await?)
    }

    async fn exit_handshake(&self, route: &Route, io: Stream) -> Result<Stream, Failure> {
        let failed = || Failure::new(Phase::ExitTls, Seen::Never);
        let Some(tls) = route.tls().or_else(|| self.default_tls()) else {
            let why = "the platform has no roots to check a proxy's certificate by; give them by ProxyTls::roots_pem";
            return Err(failed().blameless(true).because(why));
        };
        let name = match tls.name() {
            Some(name) => name.clone(),
            None => ServerName::try_from(route.host().to_owned()).map_err(|_| {
                failed()
                    .because("its host is no name that a certificate can have; give ProxyTls::server_name")
            })?,
        };
        let connector = TlsConnector::from(Arc::clone(tls.config()));
        let tls = connector.connect(name, io).await.map_err(|cause| tls_failed(Phase::ExitTls, cause))?;
        Ok(Box::new(tls))
    }

    fn default_tls(&self) -> Option<&ProxyTls> {
        self.proxy_tls.get_or_init(|| ProxyTls::builder().build().ok()).as_ref()
    }

    /// Makes the stream one that ends at the origin, unless requests are put to the exit itself.
    async fn tunnel(
        &self,
        route: &Route,
        target: &Target,
        mut stream: Stream,
        progress: &mut Progress,
    ) -> Result<Stream, Failed> {
        let limit = self.limits.tunnel;
        match target.way(route, self.tunnel_http) {
            Way::Forward => return Ok(stream),
            Way::Through if route.via().forwards() => {
                let work = connect::open(stream, target.connect(route)?);
                let opened = progress.stage(Phase::Tunnel, limit, work).await;
                (stream, progress.egress) = opened.map_err(|failed| match failed {
                    Failed::Failed(failure) => {
                        let refused = failure.source().and_then(|cause| not_let_in(route, cause));
                        Failed::Failed(refused.unwrap_or(failure))
                    }
                    refused @ Failed::Refused(_) => refused,
                })?;
            }
            Way::Through if route.via().is_socks() => {
                let (via, login) = (route.via(), route.credential());
                let to = match via {
                    Via::Socks5 | Via::Socks4 => To::Address(self.look_up(via, target, progress).await?),
                    _ => To::host(target.host(), target.port()),
                };
                match via {
                    Via::Socks4 | Via::Socks4a => {
                        progress.stage(Phase::Tunnel, limit, socks4::open(&mut stream, login, to)).await?;
                    }
                    _ => progress.stage(Phase::Tunnel, limit, socks::open(&mut stream, login, to)).await?,
                }
            }
            Way::Through => return Ok(stream),
        }
        progress.login_accepted = true;
        Ok(stream)
    }

    /// The origin's address, for a proxy that takes no names.
    async fn look_up(
        &self,
        via: Via,
        target: &Target,
        progress: &mut Progress,
    ) -> Result<SocketAddr, Failed> {
        let work = self.resolver.addresses(Phase::OriginDns, target.host(), target.port());
        let addresses = progress.stage(Phase::OriginDns, self.limits.connect, work).await?;
        let suits = |address: &&SocketAddr| via != Via::Socks4 || address.ip().to_canonical().is_ipv4();
        addresses.iter().find(suits).copied().ok_or_else(|| socks4::no_ipv4().into())
    }
}

fn tls_failed(phase: Phase, cause: io::Error) -> Failure {
    Failure::new(phase, Seen::Never).because(cause)
}
