//! TCP to the first address that answers.

use crate::outcome::{Failure, Phase, Seen, machine};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Tries the addresses in order; each has an equal part of the time, so that one that swallows packets leaves some.
pub(super) async fn connect(
    phase: Phase,
    addresses: &[SocketAddr],
    from: Option<IpAddr>,
    limit: Duration,
) -> Result<TcpStream, Failure> {
    let parts = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failed = Failure::new(phase, Seen::Never).blameless(true);
    for address in addresses {
        let connecting = async {
            match from {
                None => TcpStream::connect(address).await.map_err(|cause| io_failed(phase, cause)),
                Some(from) => bound(from)?.connect(*address).await.map_err(|cause| io_failed(phase, cause)),
            }
        };
        let failure = match timeout(limit / parts, connecting).await {
            Ok(Ok(tcp)) => {
                // Only a matter of speed: a socket that refuses it still works.
                let _ = tcp.set_nodelay(true);
                return Ok(tcp);
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::new(phase, Seen::Never).timed_out(),
        };
        failed = worse(failed, failure);
    }
    Err(failed)
}

/// A socket that leaves from an own address. If the machine does not have it, the exit is what is missing.
fn bound(from: IpAddr) -> Result<TcpSocket, Failure> {
    // The system would choose for 0.0.0.0 and ::, and that is a direct connection.
    if from.to_canonical().is_unspecified() {
        let why = format!("{from} is no address: give Exit::local one that this machine has");
        return Err(Failure::new(Phase::ExitTcp, Seen::Never).because(why));
    }
    let bind = || {
        let socket = if from.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.bind(SocketAddr::new(from, 0))?;
        Ok(socket)
    };
    bind().map_err(|cause: io::Error| {
        let missing = cause.kind() == io::ErrorKind::AddrNotAvailable;
        let failure = Failure::new(Phase::ExitTcp, Seen::Never);
        failure.blameless(!missing && machine::failed(&cause)).because(cause)
    })
}

/// The later failure, unless it is the machine's own and the earlier was not: one address that could be tried is enough
/// for a verdict on the exit.
fn worse(earlier: Failure, later: Failure) -> Failure {
    if later.is_blameless() && !earlier.is_blameless() { earlier } else { later }
}

fn io_failed(phase: Phase, cause: io::Error) -> Failure {
    Failure::new(phase, Seen::Never).blameless(machine::failed(&cause)).because(cause)
}

#[cfg(test)]
mod tests {
    use super::{bound, io_failed, worse};
    use crate::outcome::{Failure, Phase, Seen};
    use std::error::Error as _;
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

    #[test]
    fn no_address_is_left_to_the_system() {
        for from in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
            let failure = bound(from.parse().unwrap()).expect_err(from);
            assert_eq!((failure.phase(), failure.is_blameless()), (Phase::ExitTcp, false));
            assert!(failure.source().is_some_and(|why| why.to_string().contains("give Exit::local one")));
        }
    }

    /// 192.0.2.0/24 is for documentation: no machine has it.
    #[test]
    fn an_own_address_that_the_machine_lacks_is_a_dead_exit() {
        let failure = bound([192, 0, 2, 7].into()).err().unwrap();
        assert_eq!((failure.phase(), failure.is_blameless()), (Phase::ExitTcp, false));
    }
}
