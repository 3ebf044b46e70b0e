//! A site that breaks off in the middle of a body, which nginx does not.

use crate::daemon::address;
use crate::nginx::Nginx;
use crate::proxy::Proxy;
use crate::through::Through;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tower_egress::Outcome;
use tower_egress::outcome::Phase;

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";

/// The site's page, and who asks it. It lives as long as the test's runtime.
async fn start() -> (String, UnboundedReceiver<IpAddr>) {
    let listener = TcpListener::bind((address(), 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, asked) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((peer, from)) = listener.accept().await {
            if answer(peer).await.is_ok() {
                let _ = tell.send(from.ip());
            }
        }
    });
    (url, asked)
}

async fn answer(mut peer: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(peer.read_u8().await?);
    }
    peer.write_all(HALF).await?;
    peer.shutdown().await
}

/// A body that breaks off is a failure through every proxy, and the site is asked once.
pub(crate) async fn shows_a_broken_body(nginx: &Nginx, proxy: &Proxy, login: &str) {
    let (url, mut asked) = start().await;
    let came = Through::exit(proxy.listed(login), nginx.roots()).get(&url).await;
    let broken = Outcome::Interrupted { phase: Phase::Body };
    assert_eq!((came.status(), came.outcome), (None, broken), "{:?}", came.answer);
    let asked: Vec<IpAddr> = std::iter::from_fn(|| asked.try_recv().ok()).collect();
    assert_eq!(asked, [proxy.exit()]);
}
