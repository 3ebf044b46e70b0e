//! How a client says in which phase an attempt broke.

use super::{Seen, WireBytes, causes, machine};
use bytes::Bytes;
use http::Response;
use std::error::Error;
use std::fmt;
use std::io;

/// The phase of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Before anything was dialled: the request cannot be sent as it is.
    Request,
    /// Resolving the exit's name.
    ExitDns,
    /// Connecting to the exit, or from it if it is an own address.
    ExitTcp,
    /// The TLS handshake with the exit.
    ExitTls,
    /// Asking the exit for a tunnel, by CONNECT or SOCKS.
    Tunnel,
    /// Resolving the origin's name here: only for `socks5://`, `socks4://` and an own address.
    OriginDns,
    /// Connecting to the origin from an own address.
    OriginTcp,
    /// The TLS handshake with the origin, through the tunnel.
    OriginTls,
    /// Writing the request.
    Send,
    /// Waiting for the answer's head.
    Head,
    /// Reading the answer's body.
    Body,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::ExitDns => "exit name",
            Self::ExitTcp => "exit connect",
            Self::ExitTls => "exit TLS",
            Self::Tunnel => "tunnel",
            Self::OriginDns => "origin name",
            Self::OriginTcp => "origin connect",
            Self::OriginTls => "origin TLS",
            Self::Send => "send",
            Self::Head => "answer head",
            Self::Body => "answer body",
        })
    }
}

/// How a SOCKS proxy refused a tunnel. Its reply says nothing more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SocksRefusal {
    /// It accepts none of the ways to log in that were offered (RFC 1928, 3); the byte that it answered, 0xff by the RFC.
    Method(u8),
    /// It refused user name and password (RFC 1929, 2), with this status; of SOCKS4 the user id, with the reply's code.
    Login(u8),
    /// It could not or would not connect: the reply's code (RFC 1928, 6), the vendors' own included, and 0x5b of SOCKS4, which
    /// says no more than that.
    Reply(u8),
}

impl fmt::Display for SocksRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(method) => write!(f, "no way to log in (method {method:#04x})"),
            Self::Login(status) => write!(f, "its login status {status}"),
            Self::Reply(code) => write!(f, "SOCKS reply {code:#04x} ({})", meaning(*code)),
        }
    }
}

/// RFC 1928, 6.
const fn meaning(code: u8) -> &'static str {
    match code {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "command not supported",
        8 => "address type not supported",
        0x5b => "of SOCKS4: rejected or failed",
        _ => "the vendor's own",
    }
}

/// A failed attempt as a client reports it: the phase, and what is proven. Put it anywhere into the source chain of a
/// client's error and [`ClassifyLayer`](crate::ClassifyLayer) finds it.
///
/// ```
/// use tower_egress::outcome::{Failure, Phase, Seen};
///
/// let failure = Failure::new(Phase::ExitTcp, Seen::Never).because(std::io::Error::other("refused"));
/// assert_eq!(failure.to_string(), "exit connect failed");
/// ```
pub struct Failure(Box<Inner>);

struct Inner {
    phase: Phase,
    seen: Seen,
    timed_out: bool,
    blameless: bool,
    login_accepted: bool,
    refusal: Option<Response<Bytes>>,
    socks: Option<SocksRefusal>,
    wire: WireBytes,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure in a phase. `seen` is [`Seen::Never`] only with proof.
    #[must_use]
    pub fn new(phase: Phase, seen: Seen) -> Self {
        let inner = Inner {
            phase,
            seen,
            timed_out: false,
            blameless: false,
            login_accepted: false,
            refusal: None,
            socks: None,
            wire: WireBytes::default(),
            source: None,
        };
        Self(Box::new(inner))
    }

    /// What an error proves whose client says only that it did not connect (`is_connect()` of hyper-util and reqwest): the
    /// request was not sent. Whose fault that is, the system's error in its chain tells, if there is one: the exit was not
    /// reached ([`Phase::ExitTcp`]), or this machine could not try ([blameless](Self::is_blameless)). Anything else may be
    /// the exit's or the origin's, a refused tunnel as well as TLS, and counts as [`Phase::OriginTls`], which charges the
    /// exit only if the origin works for others.
    ///
    /// ```
    /// use std::io::{Error, ErrorKind};
    /// use tower_egress::outcome::{Failure, Phase};
    ///
    /// assert_eq!(Failure::not_connected(Error::from(ErrorKind::ConnectionRefused)).phase(), Phase::ExitTcp);
    /// assert_eq!(Failure::not_connected("unsuccessful tunnel").phase(), Phase::OriginTls);
    /// ```
    #[must_use]
    pub fn not_connected(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        let system = || causes(&*source).filter_map(|error| error.downcast_ref::<io::Error>());
        let blameless = system().any(machine::failed);
        let unreached = blameless || system().any(|error| is_out_of_reach(error.kind()));
        let phase = if unreached { Phase::ExitTcp } else { Phase::OriginTls };
        Self::new(phase, Seen::Never).blameless(blameless).because(source)
    }

    /// The phase ran out of time.
    #[must_use]
    pub fn timed_out(mut self) -> Self {
        self.0.timed_out = true;
        self
    }

    /// No exit is to blame: the caller's own body, patience or machine failed, or an idle connection was closed just when
    /// it was used again.
    #[must_use]
    pub fn blameless(mut self, blameless: bool) -> Self {
        self.0.blameless = blameless;
        self
    }

    /// The proxy accepted a login before the failure.
    #[must_use]
    pub fn login_accepted(mut self, accepted: bool) -> Self {
        self.0.login_accepted = accepted;
        self
    }

    /// The proxy's answer that refused a tunnel: status, headers, and as much of the body as was read.
    #[must_use]
    pub fn refused(mut self, answer: Response<Bytes>) -> Self {
        self.0.refusal = Some(answer);
        self
    }

    /// The SOCKS proxy's reply that refused a tunnel.
    #[must_use]
    pub fn refused_by_socks(mut self, refusal: SocksRefusal) -> Self {
        self.0.socks = Some(refusal);
        self
    }

    /// The bytes that the attempt has cost on the wire.
    #[must_use]
    pub fn after(mut self, wire: WireBytes) -> Self {
        self.0.wire = wire;
        self
    }

    /// The cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The phase that failed.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// Whether the origin can have seen the request.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.0.seen
    }

    /// Whether the phase ran out of time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.timed_out
    }

    /// Whether no exit is to blame.
    #[must_use]
    pub fn is_blameless(&self) -> bool {
        self.0.blameless
    }

    /// Whether the proxy accepted a login before the failure.
    #[must_use]
    pub fn is_login_accepted(&self) -> bool {
        self.0.login_accepted
    }

    /// The SOCKS proxy's reply, if it refused a tunnel.
    #[must_use]
    pub fn socks(&self) -> Option<SocksRefusal> {
        self.0.socks
    }

    /// The bytes that the attempt has cost on the wire, as far as its client counts them.
    #[must_use]
    pub fn wire(&self) -> WireBytes {
        self.0.wire
    }

    /// The proxy's answer, if it refused a tunnel.
    #[must_use]
    pub fn refusal(&self) -> Option<&Response<Bytes>> {
        self.0.refusal.as_ref()
    }
}

/// What only the first hop can say. A reset may come from any of them.
const fn is_out_of_reach(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(kind, ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut)
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The refusal's headers are the proxy's words and may repeat the login.
        f.debug_struct("Failure")
            .field("phase", &self.0.phase)
            .field("seen", &self.0.seen)
            .field("timed_out", &self.0.timed_out)
            .field("refusal", &self.0.refusal.as_ref().map(Response::status))
            .field("socks", &self.0.socks)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(refusal) = self.0.socks {
            return write!(f, "{} refused by the proxy with {refusal}", self.0.phase);
        }
        match &self.0.refusal {
            Some(answer) => {
                write!(f, "{} refused by the proxy with {}", self.0.phase, answer.status().as_u16())
            }
            None if self.0.timed_out => write!(f, "{} timed out", self.0.phase),
            None => write!(f, "{} failed", self.0.phase),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
