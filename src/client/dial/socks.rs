//! SOCKS5 (RFC 1928) with a login by user name and password (RFC 1929): a tunnel, or the proxy's own code for why there is
//! none.
//!
//! Read exactly, byte for byte: what follows the proxy's last reply belongs to the tunnel.

use super::Failed;
use crate::client::error::unsendable;
use crate::exit::Credential;
use crate::outcome::{Failure, Phase, Seen, SocksRefusal};
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
/// The version of the login's own exchange.
const LOGIN_VERSION: u8 = 1;

/// Where a tunnel is to lead.
pub(super) enum To<'a> {
    /// To a name, which the exit resolves.
    Name(&'a str, u16),
    Address(SocketAddr),
}

impl To<'_> {
    /// A host as a URI has it: an address is sent as one, whoever resolves names.
    pub(super) fn host(host: &str, port: u16) -> To<'_> {
        match host.parse::<IpAddr>() {
            Ok(ip) => To::Address(SocketAddr::new(ip, port)),
            Err(_) => To::Name(host, port),
        }
    }

    /// Asks for a tunnel to there.
    ///
    /// # Errors
    /// The name is longer than the protocol takes.
    pub(super) fn request(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![VERSION, CONNECT, 0];
        let port = match self {
            Self::Name(name, port) => {
                let length = u8::try_from(name.len());
                let length = length
                    .map_err(|_| unsendable("the URI's host is longer than the 255 bytes of SOCKS5"))?;
                bytes.extend([3, length]);
                bytes.extend(name.as_bytes());
                *port
            }
            Self::Address(address) => {
                match address.ip() {
                    IpAddr::V4(ip) => {
                        bytes.push(1);
                        bytes.extend(ip.octets());
                    }
                    IpAddr::V6(ip) => {
                        bytes.push(4);
                        bytes.extend(ip.octets());
                    }
                }
                address.port()
            }
        };
        bytes.extend(port.to_be_bytes());
        Ok(bytes)
    }
}

/// Asks the proxy at the other end of `io` for a tunnel. One way to log in is offered, so that a proxy cannot pick the other
/// and lose the session that the user name names.
pub(super) async fn open<T>(io: &mut T, login: Option<&Credential>, to: To<'_>) -> Result<(), Failed>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let request = to.request()?;
    let method = if login.is_some() { LOGIN } else { NO_LOGIN };
    write(io, &[VERSION, 1, method]).await?;
    let [version, chosen] = read(io).await?;
    check(version == VERSION, "SOCKS5", "its first byte is not that of SOCKS5")?;
    if chosen != method {
        return Err(refused(SocksRefusal::Method(chosen)));
    }
    if let Some(login) = login {
        authenticate(io, login).await?;
    }
    write(io, &request).await?;
    let [version, reply, _, kind] = read(io).await?;
    check(version == VERSION, "SOCKS5", "its reply does not begin with that of SOCKS5")?;
    if reply != 0 {
        let refusal = failure().refused_by_socks(SocksRefusal::Reply(reply));
        // Who gets this far was let in.
        return Err(refusal.login_accepted(true).into());
    }
    // The address it connects from, which tells nothing.
    let length = match kind {
        1 => 4,
        3 => usize::from(read::<1, _>(io).await?[0]),
        4 => 16,
        _ => return Err(malformed("SOCKS5", "its reply has an address of an unknown kind")),
    };
    let mut rest = [0; 255 + 2];
    io.read_exact(&mut rest[..length + 2]).await.map_err(broke)?;
    Ok(())
}

async fn authenticate<T: AsyncRead + AsyncWrite + Unpin>(
    io: &mut T,
    login: &Credential,
) -> Result<(), Failed> {
    let mut bytes = vec![LOGIN_VERSION];
    for part in [login.user(), login.password()] {
        // A route's login was checked when it was read.
        let length = u8::try_from(part.len()).map_err(|_| unsendable("the login is too long for SOCKS5"))?;
        bytes.push(length);
        bytes.extend(part.as_bytes());
    }
    write(io, &bytes).await?;
    // Some proxies answer with 5 in place of 1 here; only the status counts.
    let [_, status] = read(io).await?;
    if status == 0 { Ok(()) } else { Err(refused(SocksRefusal::Login(status))) }
}

pub(super) async fn write<T: AsyncWrite + Unpin>(io: &mut T, bytes: &[u8]) -> Result<(), Failed> {
    io.write_all(bytes).await.map_err(broke)?;
    io.flush().await.map_err(broke)
}

pub(super) async fn read<const N: usize, T: AsyncRead + Unpin>(io: &mut T) -> Result<[u8; N], Failed> {
    let mut bytes = [0; N];
    io.read_exact(&mut bytes).await.map_err(broke)?;
    Ok(bytes)
}

pub(super) fn failure() -> Failure {
    Failure::new(Phase::Tunnel, Seen::Never)
}

pub(super) fn refused(refusal: SocksRefusal) -> Failed {
    failure().refused_by_socks(refusal).into()
}

fn broke(cause: io::Error) -> Failed {
    failure().because(cause).into()
}

fn malformed(protocol: &'static str, what: &'static str) -> Failed {
    failure().because(format!("the proxy does not speak {protocol}: {what}")).into()
}

pub(super) fn check(holds: bool, protocol: &'static str, what: &'static str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(malformed(protocol, what)) }
}

#[cfg(test)]
mod tests {
    use super::{To, open};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    /// Through pipes of one byte and of many, so that the replies come in all pieces there are.
    #[tokio::test]
    async fn what_follows_the_reply_belongs_to_the_tunnel() {
        let name = [&[5, 0, 0, 3, 255][..], &[b'x'; 255 + 2]].concat();
        for reply in [&[5, 0, 0, 1, 1, 2, 3, 4, 5, 6][..], &[5, 0, 0, 3, 0, 0, 0], &name] {
            for pipe in (1..20).chain([1024]) {
                let (mut near, mut far) = duplex(pipe);
                let proxy = tokio::spawn({
                    let early = [&[5, 0], reply, b"early"].concat();
                    async move {
                        // Before anything was asked, so that all of it is there.
                        let (mut asks, mut answers) = tokio::io::split(&mut far);
                        let (mut asked, all) = (Vec::new(), answers.write_all(&early));
                        let (read, written) = tokio::join!(asks.read_to_end(&mut asked), all);
                        read.and(written).map(|()| asked)
                    }
                });
                assert!(open(&mut near, None, To::Name("a.test", 80)).await.is_ok(), "{pipe}");
                let mut early = [0; 5];
                near.read_exact(&mut early).await.unwrap();
                assert_eq!(&early, b"early", "{pipe}");
                drop(near);
                let asked = proxy.await.unwrap().unwrap();
                assert_eq!(asked, b"\x05\x01\x00\x05\x01\x00\x03\x06a.test\x00\x50", "{pipe}");
            }
        }
    }
}
