//! What the children hold whose heap is counted. None of them returns: it ends while it still has everything.

use super::clients::{Alone, Reqwest, hyper_forward, hyper_tunnel};
use super::far::{Far, ORIGIN, read_head};
use super::world::{Client, World, read, runtime, trust};
use http::Request;
use http::header::HOST;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Layer as _;
use tower_egress::client::ExitClient;
use tower_egress::{Body, EgressLayer, ExitList, Scheduler};

/// So many of a thing are held, and twice so many.
pub(crate) const MANY: usize = 100;

const HELD: [fn(usize) -> !; 10] = [
    exits,
    |many| clients(many, hyper_forward),
    |many| clients(many, hyper_tunnel),
    |many| clients(many, |far| Reqwest::new(far, World::Tunnel)),
    |many| own(World::Forward, many),
    |many| connections(many, |far| Alone::new(far, World::Forward, far.exits.len())),
    |many| connections(many, hyper_forward),
    |many| own(World::Tunnel, many),
    |many| connections(many, |far| Alone::new(far, World::Tunnel, far.exits.len())),
    |many| connections(many, hyper_tunnel),
];

/// Places in the list of what can be held.
pub(crate) const EXITS: usize = 0;
pub(crate) const CLIENTS: [(&str, usize); 3] = [
    ("hyper-util's legacy client, one an exit, http", 1),
    ("hyper-util's legacy client, one an exit, https", 2),
    ("reqwest, one an exit, roots shared", 3),
];
/// hyper's own, `ExitClient`'s, the legacy client's.
pub(crate) const CONNECTIONS: [(World, [usize; 3]); 2] =
    [(World::Forward, [4, 5, 6]), (World::Tunnel, [7, 8, 9])];

/// Holds so many of something, and ends.
pub(crate) fn hold(what: usize, many: usize) -> ! {
    HELD[what](many)
}

fn end<T>(held: &T) -> ! {
    black_box(held);
    std::process::exit(0)
}

/// Exits that nothing has gone through yet, with the platform's roots; with none of them, nothing.
fn exits(many: usize) -> ! {
    if many == 0 {
        end(&());
    }
    let list = (0..many).fold(String::new(), |mut list, at| {
        writeln!(list, "10.{}.{}.{}:8080", at >> 16, at >> 8 & 255, at & 255).expect("a string takes it");
        list
    });
    let exits = ExitList::parse(&list).expect("a list");
    drop(list);
    let scheduler = Scheduler::builder().exits(exits).seed(7).build().expect("exits");
    end(&EgressLayer::new(&scheduler).layer(ExitClient::new()))
}

/// Clients for one exit each.
fn clients<C>(many: usize, make: impl Fn(&Far) -> C) -> ! {
    let far = Far::start(many).expect("a far side");
    let _runtime = runtime();
    let clients = make(&far);
    drop(far);
    end(&clients)
}

/// A client for all exits, with a connection through each of the first `many`.
fn connections<C: Client>(many: usize, make: impl Fn(&Far) -> C) -> ! {
    let far = Far::start(2 * MANY).expect("a far side");
    let (runtime, client) = (runtime(), make(&far));
    for turn in 0..many {
        runtime.block_on(client.page(turn));
    }
    runtime.block_on(settled());
    end(&(client, runtime, far))
}

/// Until what is left of the last answers is done.
async fn settled() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// hyper's connections without a client around them.
fn own(world: World, many: usize) -> ! {
    let far = Far::start(2 * MANY).expect("a far side");
    let (runtime, tls) = (runtime(), TlsConnector::from(Arc::new(trust(&far))));
    let mut senders = Vec::with_capacity(far.exits.len());
    for address in &far.exits[..many] {
        let sender = runtime.block_on(async {
            match world {
                World::Forward => spoken(TcpStream::connect(address).await?, &world.page()).await,
                World::Tunnel => spoken(tunnel(*address, &tls).await?, "/p/42").await,
            }
        });
        senders.push(sender.expect("an answer"));
    }
    runtime.block_on(settled());
    end(&(senders, runtime, tls, far))
}

async fn tunnel(address: SocketAddr, tls: &TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let mut tcp = TcpStream::connect(address).await?;
    let connect = format!("CONNECT {ORIGIN}:443 HTTP/1.1\r\nhost: {ORIGIN}:443\r\n\r\n");
    tcp.write_all(connect.as_bytes()).await?;
    read_head(&mut tcp, &mut Vec::new()).await?;
    tls.connect(ORIGIN.try_into().map_err(io::Error::other)?, tcp).await
}

/// A connection over which one page has come.
async fn spoken<T>(io: T, target: &str) -> io::Result<SendRequest<Body>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        Builder::new().handshake(TokioIo::new(io)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let request = Request::get(target).header(HOST, ORIGIN).body(Body::empty()).map_err(io::Error::other)?;
    read(sender.send_request(request).await.map_err(io::Error::other)?.into_body()).await;
    Ok(sender)
}
