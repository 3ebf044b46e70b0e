//! Establishing a connection: name, TCP, tunnel, TLS, with one deadline over all of it.

use super::connection::Connection;
use super::target::Target;
use super::tls::Tls;
use super::tunnel::{self, NotOpened};
use crate::exit::{Route, Via};
use crate::outcome::{Failure, Phase, Seen, machine};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// How connections are established.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) connect_timeout: Duration,
    pub(super) establish_timeout: Duration,
    pub(super) tls: Tls,
}

/// How far an attempt came, for the failure that a timeout makes of it.
struct Progress {
    phase: Phase,
    login_accepted: bool,
}

impl Dialer {
    /// Connects to the exit, and for https through it to the origin. The origin's name is the exit's to resolve.
    ///
    /// Dropping the future closes the socket.
    pub(super) async fn dial(&self, route: &Route, target: &Target) -> Result<Connection, Failure> {
        let mut progress = Progress { phase: Phase::ExitDns, login_accepted: false };
        match timeout(self.establish_timeout, self.establish(route, target, &mut progress)).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(NotOpened::Failed(failure))) => Err(failure),
            // Outside the deadline: what the proxy says must not get lost to it, and has a limit of its own.
            Ok(Err(NotOpened::Refused(refusal))) => Err(refusal.read().await),
            Err(_) => Err(Failure::new(progress.phase, Seen::Never)
                .login_accepted(progress.login_accepted)
                .timed_out()),
        }
    }

    async fn establish(
        &self,
        route: &Route,
        target: &Target,
        progress: &mut Progress,
    ) -> Result<Connection, NotOpened> {
        let connect = match route.via() {
            Via::Http => target.connect(route).transpose()?,
            _ => return Err(super::error::unsendable("the exit's protocol is not spoken yet").into()),
        };
        if connect.is_some() {
            self.tls.check()?;
        }
        let addresses = resolve(route).await?;
        progress.phase = Phase::ExitTcp;
        let tcp = self.connect(&addresses).await?;
        let (Some(connect), Some(name)) = (connect, target.tls.clone()) else {
            return Ok(Connection::start(tcp).await?);
        };
        progress.phase = Phase::Tunnel;
        let tunnel = tunnel::open(tcp, connect).await?;
        *progress = Progress { phase: Phase::OriginTls, login_accepted: true };
        Ok(Connection::start(self.tls.handshake(name, tunnel).await?).await?)
    }

    /// Tries the addresses in order; each has an equal part of the time, so that one that swallows packets leaves some.
    async fn connect(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
        let parts = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut failed = Failure::new(Phase::ExitTcp, Seen::Never).blameless(true);
        for address in addresses {
            let failure = match timeout(self.connect_timeout / parts, TcpStream::connect(address)).await {
                Ok(Ok(tcp)) => {
                    // Only a matter of speed: a socket that refuses it still works.
                    let _ = tcp.set_nodelay(true);
                    return Ok(tcp);
                }
                Ok(Err(cause)) => io_failed(Phase::ExitTcp, cause),
                Err(_) => Failure::new(Phase::ExitTcp, Seen::Never).timed_out(),
            };
            failed = worse(failed, failure);
        }
        Err(failed)
    }
}

/// The later failure, unless it is the machine's own and the earlier was not: one address that could be tried is enough
/// for a verdict on the exit.
fn worse(earlier: Failure, later: Failure) -> Failure {
    if later.is_blameless() && !earlier.is_blameless() { earlier } else { later }
}

fn io_failed(phase: Phase, cause: io::Error) -> Failure {
    Failure::new(phase, Seen::Never).blameless(machine::failed(&cause)).because(cause)
}

/// The exit's addresses.
///
/// A resolver that is down cannot be told from a name that does not exist: std keeps of getaddrinfo's answer only its text,
/// which differs by system. So it counts against the exit, unless the look-up failed for want of a descriptor or memory.
async fn resolve(route: &Route) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(ip) = route.host().parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, route.port())]);
    }
    // The system names no name, and of many exits one is misspelt.
    let failed = |cause: io::Error| {
        let named = io::Error::new(cause.kind(), format!("{}: {cause}", route.host()));
        Failure::new(Phase::ExitDns, Seen::Never).blameless(machine::failed(&cause)).because(named)
    };
    let addresses: Vec<_> = lookup_host((route.host(), route.port())).await.map_err(failed)?.collect();
    if addresses.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::{io_failed, worse};
    use crate::outcome::{Failure, Phase, Seen};
    use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused};

    #[test]
    fn a_name_is_blameless_only_if_no_address_could_be_tried() {
        let failure = |kind: std::io::ErrorKind| io_failed(Phase::ExitTcp, kind.into());
        for (kinds, blameless) in [
            ([AddrNotAvailable, AddrNotAvailable], true),
            ([AddrNotAvailable, ConnectionRefused], false),
            ([ConnectionRefused, AddrNotAvailable], false),
            ([ConnectionRefused, ConnectionRefused], false),
        ] {
            let [first, second] = kinds.map(failure);
            let failed =
                worse(worse(Failure::new(Phase::ExitTcp, Seen::Never).blameless(true), first), second);
            assert_eq!(failed.is_blameless(), blameless, "{kinds:?}");
        }
    }
}
