//! What a SOCKS exit was told to answer.

use bytes::Bytes;

/// What a SOCKS5 exit answers instead of what it should, and where in the conversation. But for the silent one it ends the
/// connection afterwards.
///
/// ```
/// use tower_egress::lab::{Behaviour, SocksReply};
///
/// let walled = Behaviour::fine().answer_socks(SocksReply::code(0x02)); // not allowed by its rules
/// let used_up = Behaviour::fine().answer_socks(SocksReply::code(0x17)); // a vendor's own code
/// let closed = Behaviour::fine().answer_socks(SocksReply::method(0xff)); // no way to log in
/// let garbage = Behaviour::fine().answer_socks(SocksReply::raw(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]));
/// # let _ = (walled, used_up, closed, garbage);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocksReply(pub(super) Line);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Method(u8),
    Login(u8),
    Code(u8),
    Raw(Bytes),
    Hang,
    Reset,
}

impl SocksReply {
    /// Answers the greeting with this method (RFC 1928, 3), whatever was offered: 0xff accepts none.
    #[must_use]
    pub const fn method(method: u8) -> Self {
        Self(Line::Method(method))
    }

    /// Answers user name and password with this status (RFC 1929, 2): any but 0 refuses. Clients that are not asked for
    /// them do not meet it, so give the exit a [`login`](super::Behaviour::login). With 0 any login is let in.
    #[must_use]
    pub const fn login(status: u8) -> Self {
        Self(Line::Login(status))
    }

    /// Answers the request with this code (RFC 1928, 6) and connects to nobody. 0 opens a tunnel that leads nowhere and is
    /// closed at once.
    #[must_use]
    pub const fn code(code: u8) -> Self {
        Self(Line::Code(code))
    }

    /// Answers the request with these bytes, which need be no reply. Without any it only closes.
    #[must_use]
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self(Line::Raw(bytes.into()))
    }

    /// Answers nothing to the request, until the client gives up.
    #[must_use]
    pub const fn hang() -> Self {
        Self(Line::Hang)
    }

    /// Resets the connection where the reply is due.
    #[must_use]
    pub const fn reset() -> Self {
        Self(Line::Reset)
    }
}
