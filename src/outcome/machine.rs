//! Failures of this machine, for which no exit can be blamed.

use std::io;

/// The process has all the file descriptors it may have. `io::ErrorKind` has no stable name for these two; the numbers are
/// the same on Linux, the BSDs, macOS and illumos.
#[cfg(unix)]
const EMFILE: i32 = 24;
/// The system has all the open files it can have.
#[cfg(unix)]
const ENFILE: i32 = 23;
/// "Too many open sockets", which is Windows' word for it.
#[cfg(windows)]
const WSAEMFILE: i32 = 10024;
/// No buffer space; also what Windows says when its local ports are used up.
#[cfg(windows)]
const WSAENOBUFS: i32 = 10055;

/// Whether this machine could not even try: no descriptor, no memory, no local port or address, no network.
///
/// An unreachable network or host is not among them: a router on the way says the same, and so does a machine without IPv6
/// of an exit that has nothing else.
pub(crate) fn failed(cause: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, NetworkDown, OutOfMemory};
    matches!(cause.kind(), AddrInUse | AddrNotAvailable | NetworkDown | OutOfMemory)
        || cause.raw_os_error().is_some_and(is_exhaustion)
}

#[cfg(unix)]
fn is_exhaustion(code: i32) -> bool {
    matches!(code, EMFILE | ENFILE)
}

#[cfg(windows)]
fn is_exhaustion(code: i32) -> bool {
    matches!(code, WSAEMFILE | WSAENOBUFS)
}

#[cfg(not(any(unix, windows)))]
fn is_exhaustion(_: i32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::failed;
    use std::io::{Error, ErrorKind};

    #[test]
    fn what_the_machine_lacks_is_not_the_exits_fault() {
        for kind in [ErrorKind::AddrNotAvailable, ErrorKind::AddrInUse, ErrorKind::NetworkDown] {
            assert!(failed(&kind.into()), "{kind}");
        }
        for kind in [
            ErrorKind::ConnectionRefused,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
            ErrorKind::HostUnreachable,
            ErrorKind::NetworkUnreachable,
        ] {
            assert!(!failed(&kind.into()), "{kind}");
        }
    }

    /// By the system's own text, so that a wrong number shows.
    #[cfg(unix)]
    #[test]
    fn a_full_table_of_descriptors_is_the_machines() {
        for code in [super::EMFILE, super::ENFILE] {
            let error = Error::from_raw_os_error(code);
            assert!(error.to_string().to_lowercase().contains("too many open files"), "{error}");
            assert!(failed(&error), "{error}");
        }
    }
}
