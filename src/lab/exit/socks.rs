//! One client's connection to an exit that speaks SOCKS5 (RFC 1928, with the logins of RFC 1929).

use super::front::{Unreached, Visit};
use super::tunnel;
use crate::lab::Reply;
use crate::lab::proxy::{Ask, Login, Meeting, Proxy, Socks};
use crate::lab::socks::{Line, SocksReply};
use crate::lab::wire::Wire;
use http::{Method, StatusCode};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::sleep;

const VERSION: u8 = 5;
/// The version of the sub-negotiation of RFC 1929.
const LOGIN_VERSION: u8 = 1;
const NO_LOGIN: u8 = 0;
const USER_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
/// Most bytes of a refused client that are waited for.
const MAX_LEFT: u64 = 64 * 1024;
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// RFC 1928, 6.
mod code {
    pub(super) const GRANTED: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const NOT_ALLOWED: u8 = 2;
    pub(super) const HOST_UNREACHABLE: u8 = 4;
    pub(super) const REFUSED: u8 = 5;
    pub(super) const COMMAND: u8 = 7;
    pub(super) const ADDRESS_TYPE: u8 = 8;
}

/// An open tunnel.
struct Open {
    origin: TcpStream,
    cut_after: Option<u64>,
}

pub(super) async fn serve<P: Proxy>(visit: Visit<P>, mut wire: Wire) {
    match negotiate(&visit, &mut wire).await {
        Ok(Some(open)) => tunnel::carry(wire, open.origin, open.cut_after).await,
        // The client reads what was said to it before it sees the end: what is left unread here would make that a reset.
        Ok(None) => {
            let _ = wire.shutdown().await;
            let _ = tokio::io::copy(&mut wire.take(MAX_LEFT), &mut tokio::io::sink()).await;
        }
        // It spoke something else, or went away; or the script said reset.
        Err(_) => {}
    }
}

/// Speaks up to the reply. `None`: it was a refusal.
async fn negotiate<P: Proxy>(visit: &Visit<P>, wire: &mut Wire) -> io::Result<Option<Open>> {
    let methods = greeting(wire).await?;
    let Socks { asks_login, reply } = visit.proxy.socks();
    let line = reply.map(|SocksReply(line)| line);
    if let Some(Line::Method(method)) = line {
        wire.write_all(&[VERSION, method]).await?;
        return Ok(None);
    }
    let method = choose(asks_login, &methods);
    wire.write_all(&[VERSION, method]).await?;
    let login = if method == USER_PASSWORD { Some(login(wire).await?) } else { None };
    let Meeting { source, delay, own, cut_after, .. } =
        visit.proxy.meet(Ask { connection: visit.number, connect: true, login: login.as_ref() });
    if method == NO_METHOD {
        return Ok(None);
    }
    let mut own = own;
    if login.is_some() {
        let refused = own.as_ref().and_then(Reply::told) == Some(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        let status = if let Some(Line::Login(status)) = line { status } else { refused.into() };
        wire.write_all(&[LOGIN_VERSION, status]).await?;
        if status != 0 {
            return Ok(None);
        }
        own = own.filter(|_| !refused);
    }
    let target = request(wire).await?;
    sleep(delay).await;
    match (line, own) {
        (Some(Line::Code(code)), _) => refuse(wire, code).await,
        (Some(Line::Raw(bytes)), _) => wire.write_all(&bytes).await.map(|()| None),
        (Some(Line::Hang), _) => scripted(visit, wire, Reply::hang()).await,
        (Some(Line::Reset), _) => scripted(visit, wire, Reply::reset()).await,
        (_, Some(reply)) => scripted(visit, wire, reply).await,
        (_, None) => connect(visit, wire, target, source, cut_after).await,
    }
}

async fn connect<P: Proxy>(
    visit: &Visit<P>,
    wire: &mut Wire,
    target: Result<(String, u16), u8>,
    source: IpAddr,
    cut_after: Option<u64>,
) -> io::Result<Option<Open>> {
    let (host, port) = match target {
        Ok(target) => target,
        Err(code) => return refuse(wire, code).await,
    };
    match visit.reach(&host, port, source).await {
        Ok(origin) => {
            reply(wire, code::GRANTED, origin.local_addr()?).await?;
            Ok(Some(Open { origin, cut_after }))
        }
        Err(Unreached::Unknown) => refuse(wire, code::HOST_UNREACHABLE).await,
        Err(Unreached::Refused) => refuse(wire, code::REFUSED).await,
    }
}

/// Plays an answer that HTTP would give with a status.
async fn scripted<P: Proxy>(visit: &Visit<P>, wire: &mut Wire, own: Reply) -> io::Result<Option<Open>> {
    match while_there(wire, own.play(&Method::CONNECT)).await? {
        Some(answer) if answer.status().is_success() => refuse(wire, code::GRANTED).await,
        Some(answer) => match answer.status() {
            StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                refuse(wire, code::NOT_ALLOWED).await
            }
            _ => refuse(wire, code::FAILED).await,
        },
        None => {
            visit.hangup.reset();
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
}

fn choose(asks_login: bool, offered: &[u8]) -> u8 {
    let wanted = if asks_login { &[USER_PASSWORD][..] } else { &[NO_LOGIN, USER_PASSWORD] };
    wanted.iter().copied().find(|method| offered.contains(method)).unwrap_or(NO_METHOD)
}

async fn greeting(wire: &mut Wire) -> io::Result<Vec<u8>> {
    expect(wire, VERSION).await?;
    short(wire).await
}

async fn login(wire: &mut Wire) -> io::Result<Login> {
    expect(wire, LOGIN_VERSION).await?;
    let [user, password] = [short(wire).await?, short(wire).await?];
    let text = |part| String::from_utf8(part).map_err(|_| io::ErrorKind::InvalidData);
    Ok(Login { user: text(user)?, password: text(password)? })
}

/// Where a request leads; `Err` has the code that refuses it.
async fn request(wire: &mut Wire) -> io::Result<Result<(String, u16), u8>> {
    expect(wire, VERSION).await?;
    let (command, _reserved) = (wire.read_u8().await?, wire.read_u8().await?);
    let host = match wire.read_u8().await? {
        1 => Some(Ipv4Addr::from(wire.read_u32().await?).to_string()),
        3 => String::from_utf8(short(wire).await?).ok(),
        4 => Some(Ipv6Addr::from(wire.read_u128().await?).to_string()),
        _ => return Ok(Err(code::ADDRESS_TYPE)),
    };
    let port = wire.read_u16().await?;
    if command != CONNECT {
        return Ok(Err(code::COMMAND));
    }
    Ok(host.map(|host| (host, port)).ok_or(code::HOST_UNREACHABLE))
}

async fn expect(wire: &mut Wire, version: u8) -> io::Result<()> {
    let right = wire.read_u8().await? == version;
    if right { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Bytes behind one byte of length.
async fn short(wire: &mut Wire) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; wire.read_u8().await?.into()];
    wire.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn refuse(wire: &mut Wire, code: u8) -> io::Result<Option<Open>> {
    reply(wire, code, NOWHERE).await?;
    Ok(None)
}

async fn reply(wire: &mut Wire, code: u8, bound: SocketAddr) -> io::Result<()> {
    let mut reply = vec![VERSION, code, 0];
    match bound.ip() {
        IpAddr::V4(ip) => {
            reply.push(1);
            reply.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            reply.push(4);
            reply.extend(ip.octets());
        }
    }
    reply.extend(bound.port().to_be_bytes());
    wire.write_all(&reply).await
}

/// Waits for a script as long as the client does. What the client says meanwhile is lost, since no tunnel follows.
async fn while_there<T>(wire: &mut Wire, script: impl Future<Output = T>) -> io::Result<T> {
    let mut script = pin!(script);
    poll_fn(|cx| match script.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => gone(wire, cx).map(Err),
    })
    .await
}

/// Ready when the client has gone away.
fn gone(wire: &mut Wire, cx: &mut Context<'_>) -> Poll<io::Error> {
    let mut bytes = [0; 256];
    loop {
        let mut buf = ReadBuf::new(&mut bytes);
        match Pin::new(&mut *wire).poll_read(cx, &mut buf) {
            Poll::Ready(Ok(())) if !buf.filled().is_empty() => {}
            Poll::Ready(Ok(())) => return Poll::Ready(io::ErrorKind::UnexpectedEof.into()),
            Poll::Ready(Err(error)) => return Poll::Ready(error),
            Poll::Pending => return Poll::Pending,
        }
    }
}
