//! A listening socket that can be shut and opened again at the same address.

use super::lock::Lock;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Most connections that one socket of the lab serves at once; more wait in the backlog.
pub const MAX_CONNECTIONS: usize = 1024;
const BACKLOG: u32 = 1024;
/// How long to wait after an accept that failed, which out of descriptors would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Door {
    address: SocketAddr,
    runtime: Handle,
    state: Lock<State>,
}

struct State {
    /// Bound and never listening: keeps the address while the door is shut, when connections to it are refused. `None`
    /// once the door is closed for good.
    reservation: Option<TcpSocket>,
    listener: Option<TcpListener>,
    /// The accept loop, waiting.
    waiting: Option<Waker>,
    visitors: JoinSet<()>,
}

impl Door {
    /// Reserves a port at a loopback address. The door is shut.
    pub(super) fn at(ip: IpAddr) -> io::Result<Arc<Self>> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let reservation = bind(SocketAddr::new(ip, 0))?;
        let address = reservation.local_addr()?;
        let state =
            State { reservation: Some(reservation), listener: None, waiting: None, visitors: JoinSet::new() };
        Ok(Arc::new(Self { address, runtime, state: Lock::new(state) }))
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets connections in; when it returns, they are accepted.
    pub(super) fn open(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.reservation.is_none() {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the lab has stopped"));
        }
        if state.listener.is_none() {
            let _runtime = self.runtime.enter();
            state.listener = Some(bind(self.address)?.listen(BACKLOG)?);
            state.wake();
        }
        Ok(())
    }

    /// Shuts the door and drops who is inside; when it returns, connections are refused.
    pub(super) fn shut(&self) {
        let mut state = self.state.lock();
        state.listener = None;
        state.visitors = JoinSet::new();
    }

    /// Shuts the door for good and gives the port back.
    pub(super) fn close(&self) {
        self.shut();
        let mut state = self.state.lock();
        state.reservation = None;
        state.wake();
    }

    /// Serves who comes in, until the door is closed for good.
    pub(super) fn serve<F, Fut>(self: &Arc<Self>, serve: F)
    where
        F: Fn(TcpStream, IpAddr) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let door = Arc::clone(self);
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        self.runtime.spawn(async move {
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                match poll_fn(|cx| door.poll_accept(cx)).await {
                    Some(Ok((stream, peer))) if peer.ip().is_loopback() => {
                        let served = serve(stream, peer.ip());
                        door.admit(async move {
                            served.await;
                            drop(place);
                        });
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) => sleep(ACCEPT_PAUSE).await,
                    None => break,
                }
            }
        });
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Option<io::Result<(TcpStream, SocketAddr)>>> {
        let mut state = self.state.lock();
        if state.reservation.is_none() {
            return Poll::Ready(None);
        }
        let accepted = state.listener.as_ref().map_or(Poll::Pending, |listener| listener.poll_accept(cx));
        if accepted.is_pending() {
            state.waiting = Some(cx.waker().clone());
        }
        accepted.map(Some)
    }

    /// Takes a visitor in, unless the door was shut meanwhile.
    fn admit(&self, visit: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state.lock();
        while state.visitors.try_join_next().is_some() {}
        if state.listener.is_some() {
            state.visitors.spawn(visit);
        }
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }
}

/// A socket that may share its address with the reservation; the kernel gives that to sockets of one user only.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}
