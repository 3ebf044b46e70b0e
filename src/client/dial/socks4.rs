//! SOCKS4, and SOCKS4a, which is the same with names: a tunnel for a user id, without a password. Neither has an RFC; they are
//! what their authors published, and as every proxy speaks them.

use super::Failed;
use super::socks::{To, check, failure, read, refused, write};
use crate::client::error::unsendable;
use crate::exit::Credential;
use crate::outcome::{Failure, Phase, Seen, SocksRefusal};
use std::net::{IpAddr, Ipv4Addr};
use tokio::io::{AsyncRead, AsyncWrite};

const VERSION: u8 = 4;
const CONNECT: u8 = 1;
const GRANTED: u8 = 90;
/// An address that no host has, by which SOCKS4a says that a name follows.
const NAMED: Ipv4Addr = Ipv4Addr::new(0, 0, 0, 1);

/// The request for a tunnel.
///
/// # Errors
/// Where it leads to has no IPv4 address, or a name that is longer than DNS has them.
pub(super) fn request(login: Option<&Credential>, to: &To<'_>) -> Result<Vec<u8>, Failure> {
    let (ip, port, name) = match to {
        To::Name(name, _) if name.len() > 255 => {
            return Err(unsendable("the URI's host is longer than the 255 bytes of a name"));
        }
        To::Name(name, port) => (NAMED, *port, Some(*name)),
        To::Address(address) => match address.ip().to_canonical() {
            IpAddr::V4(ip) => (ip, address.port(), None),
            IpAddr::V6(_) => return Err(no_ipv4()),
        },
    };
    let mut bytes = vec![VERSION, CONNECT];
    bytes.extend(port.to_be_bytes());
    bytes.extend(ip.octets());
    for text in [Some(login.map_or("", Credential::user)), name].into_iter().flatten() {
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

/// Another exit may reach it.
pub(super) fn no_ipv4() -> Failure {
    Failure::new(Phase::OriginDns, Seen::Never)
        .because("the site has no IPv4 address, and SOCKS4 takes no other")
}

/// Asks the proxy at the other end of `io` for a tunnel.
pub(super) async fn open<T>(io: &mut T, login: Option<&Credential>, to: To<'_>) -> Result<(), Failed>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    write(io, &request(login, &to)?).await?;
    // An address follows the code, which tells nothing.
    let [version, code, ..] = read::<8, _>(io).await?;
    check(version == 0, "SOCKS4", "its reply does not begin with a zero")?;
    match code {
        GRANTED => Ok(()),
        // It asked this machine who the user is (RFC 1413), and did not like the answer.
        92 | 93 => Err(refused(SocksRefusal::Login(code))),
        _ => Err(failure().refused_by_socks(SocksRefusal::Reply(code)).into()),
    }
}
