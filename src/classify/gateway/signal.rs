//! What a row of the tables holds, and when it fits.

use crate::outcome::{AuthReason, BlockedBy, Evidence, GatewayScope, Outcome, Phase, RetryAfter, Seen};

/// Where an answer came: in reply to a CONNECT, in reply to a plain request that was put to the proxy, or through a tunnel
/// whose TLS the provider ends itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::classify) struct On(u8);

impl On {
    pub(in crate::classify) const CONNECT: Self = Self(1);
    pub(in crate::classify) const PLAIN: Self = Self(2);
    pub(in crate::classify) const TUNNEL: Self = Self(4);
    /// What an answer is put to the proxy for.
    pub(super) const PROXY: Self = Self(1 | 2);
    /// What services answer that end TLS themselves, and so may speak inside of a tunnel.
    pub(super) const SERVICE: Self = Self(2 | 4);
    pub(super) const ANY: Self = Self(1 | 2 | 4);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a signal says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::classify) enum Says {
    /// The exit failed.
    Exit,
    /// The session's exit is gone.
    Session,
    /// The target is not reached from this exit.
    Unreachable,
    /// The target is reached from none.
    Failed,
    /// The provider does not serve the target.
    Denied,
    Busy(GatewayScope),
    Login(AuthReason),
    /// This exit is to slow down.
    Limited,
    /// The target refuses the exit.
    Blocked,
    /// The exchange broke off behind the proxy.
    Broke,
    /// The request is wrong.
    Fatal,
}

/// One row. The first that fits holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    on: On,
    /// From, to.
    status: (u16, u16),
    /// One of these is the header's value, or the phrase; none is asked for if there are none.
    values: &'static [&'static str],
    says: Says,
    seen: Seen,
}

const ANY_STATUS: (u16, u16) = (0, u16::MAX);

/// A code in a header of the vendor's own, whatever the status is.
pub(super) const fn code(values: &'static [&'static str], says: Says) -> Signal {
    Signal { on: On::ANY, status: ANY_STATUS, values, says, seen: seen(says) }
}

/// A status of a vendor that is known, in reply to a CONNECT. A plain request may be answered so by its origin as well.
pub(super) const fn connect(status: u16, says: Says) -> Signal {
    Signal { on: On::CONNECT, status: (status, status), values: &[], says, seen: seen(says) }
}

/// A status that only the proxy can have sent: 407, or one of the vendor's own.
pub(super) const fn proxy(status: u16, says: Says) -> Signal {
    Signal { on: On::PROXY, ..connect(status, says) }
}

/// A status of a service that ends TLS itself.
pub(super) const fn service(status: u16, says: Says) -> Signal {
    Signal { on: On::SERVICE, ..connect(status, says) }
}

/// A phrase in reply to a CONNECT.
pub(super) const fn phrase(status: u16, values: &'static [&'static str], says: Says) -> Signal {
    Signal { values, ..connect(status, says) }
}

/// What can be known of the request, unless the row says more.
const fn seen(says: Says) -> Seen {
    match says {
        Says::Exit | Says::Unreachable | Says::Blocked | Says::Broke => Seen::Unknown,
        _ => Seen::Never,
    }
}

impl Signal {
    pub(super) const fn only(self, on: On) -> Self {
        Self { on, ..self }
    }

    pub(super) const fn with(self, status: u16) -> Self {
        self.between(status, status)
    }

    pub(super) const fn between(self, from: u16, to: u16) -> Self {
        Self { status: (from, to), ..self }
    }

    /// It failed before there was a connection to the origin.
    pub(super) const fn before_arrival(self) -> Self {
        Self { seen: Seen::Never, ..self }
    }

    /// The origin may have read the request.
    pub(super) const fn maybe_arrived(self) -> Self {
        Self { seen: Seen::Unknown, ..self }
    }

    pub(super) fn fits(&self, on: On, status: u16, text: &[u8]) -> bool {
        self.on.has(on)
            && (self.status.0..=self.status.1).contains(&status)
            && (self.values.is_empty() || self.values.iter().any(|value| like(value.as_bytes(), text)))
    }

    pub(super) const fn word(&self) -> Word {
        Word { says: self.says, seen: self.seen }
    }
}

/// What a proxy has said of its own, and whether the origin can have seen the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::classify) struct Word {
    pub(super) says: Says,
    pub(super) seen: Seen,
}

impl Word {
    pub(super) const fn of(says: Says) -> Self {
        Self { says, seen: seen(says) }
    }

    /// What is left of it inside of a tunnel, where any site could have said it: nothing that reaches beyond the pair of exit
    /// and site, and nothing on the login.
    pub(super) const fn inside(self) -> Option<Self> {
        let says = match self.says {
            Says::Login(_) => return None,
            Says::Busy(_) => Says::Busy(GatewayScope::Target),
            Says::Exit | Says::Session => Says::Unreachable,
            says => says,
        };
        Some(Self { says, ..self })
    }

    pub(in crate::classify) const fn outcome(self, retry_after: Option<RetryAfter>) -> Outcome {
        match self.says {
            Says::Exit => Outcome::ProxyError { phase: Phase::Tunnel },
            Says::Session => Outcome::SessionLost,
            Says::Unreachable => Outcome::TargetUnreachable,
            Says::Failed => Outcome::TargetFailed,
            Says::Denied => Outcome::TargetDenied,
            Says::Busy(scope) => Outcome::GatewayOverloaded { retry_after, scope },
            Says::Login(reason) => Outcome::AuthError { reason },
            Says::Limited => Outcome::RateLimited { retry_after },
            Says::Blocked => Outcome::Blocked { by: BlockedBy::Exit },
            Says::Broke => Outcome::Interrupted { phase: Phase::Head },
            Says::Fatal => Outcome::Fatal,
        }
    }

    pub(in crate::classify) const fn evidence(self, hint: Option<RetryAfter>) -> Evidence {
        // Whoever speaks of the way behind it has let the login in; what it thinks of the request it may say to anybody.
        let accepted = match self.says {
            Says::Exit | Says::Session | Says::Unreachable | Says::Failed => true,
            Says::Limited | Says::Blocked | Says::Broke => true,
            Says::Denied | Says::Busy(_) | Says::Login(_) | Says::Fatal => false,
        };
        Evidence::of(self.outcome(hint)).seen(self.seen).login_accepted(accepted).retry_after(hint)
    }
}

/// Whether a text fits a pattern, byte by byte: `*` stands for any bytes or none, letters are of either case, and `-` and `_`
/// are one, since Bright Data writes its codes both ways.
pub(super) fn like(pattern: &[u8], text: &[u8]) -> bool {
    const fn same(one: u8, two: u8) -> bool {
        one.eq_ignore_ascii_case(&two) || matches!((one, two), (b'_', b'-') | (b'-', b'_'))
    }
    let (mut at, mut read) = (0, 0);
    // Behind the last `*`, and how far it has eaten.
    let mut star = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, read));
                at += 1;
            }
            Some(&byte) if same(byte, text[read]) => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((behind, eaten)) = star else { return false };
                star = Some((behind, eaten + 1));
                (at, read) = (behind, eaten + 1);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn patterns_are_read_byte_by_byte() {
        for (pattern, text, fits) in [
            ("a", "A", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("a*", "a", true),
            ("*b", "aab", true),
            ("*b*", "abc", true),
            ("a*b*c", "a--b--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("client_10060", "client-10060", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("*ab", "aab", true),
        ] {
            assert_eq!(like(pattern.as_bytes(), text.as_bytes()), fits, "{pattern} {text}");
        }
        assert!(like(b"a*z", b"a\xff\x00z"));
    }
}
