//! The far side: exits and an origin on loopback, in a process of their own, so that neither their time nor their heap is
//! the client's. They answer with fixed bytes as soon as a head has ended.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use std::io::{self, BufRead as _, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The name of the origin, which only the exits know.
pub(crate) const ORIGIN: &str = "shop.test";
/// A page of 13 bytes.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<h1>9.99</h1>";
const OPENED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// A running far side. It ends when this is dropped, and with this process.
pub(crate) struct Far {
    child: Child,
    /// One address for each exit.
    pub(crate) exits: Vec<SocketAddr>,
    /// The root of the origin's certificate.
    pub(crate) root_pem: String,
}

impl Far {
    pub(crate) fn start(exits: usize) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--far", &exits.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = io::BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let lines = says.lines().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()));
        let lines: Vec<String> = lines.collect::<io::Result<_>>()?;
        if lines.len() <= exits {
            return Err(io::Error::other("the far side did not start"));
        }
        let (addresses, root) = lines.split_at(exits);
        let addresses = addresses.iter().map(|line| line.parse().map_err(io::Error::other));
        Ok(Self { exits: addresses.collect::<io::Result<_>>()?, root_pem: root.join("\n"), child })
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Is the far side, with so many exits, until the input ends.
pub(crate) fn serve(exits: usize) -> io::Result<()> {
    let (acceptor, root_pem) = tls()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for at in 0..exits {
        let ip = Ipv4Addr::new(
            127,
            0,
            u8::try_from(1 + at / 200).map_err(io::Error::other)?,
            (1 + at % 200) as u8,
        );
        let listener = runtime.block_on(TcpListener::bind((ip, 0)))?;
        println!("{}", listener.local_addr()?);
        let acceptor = acceptor.clone();
        runtime.spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(exit(tcp, acceptor.clone()));
            }
        });
    }
    println!("{}\n", root_pem.trim_end().replace("\r\n", "\n"));
    std::thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    runtime.block_on(std::future::pending())
}

/// An exit's side of a connection: forwards to an origin that it is itself, in a tunnel behind TLS.
async fn exit(mut tcp: TcpStream, acceptor: TlsAcceptor) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let mut head = Vec::new();
    read_head(&mut tcp, &mut head).await?;
    if head.starts_with(b"CONNECT ") {
        tcp.write_all(OPENED).await?;
        return answer(acceptor.accept(tcp).await?).await;
    }
    tcp.write_all(ANSWER).await?;
    answer(tcp).await
}

/// Answers one request after the other; none has a body.
async fn answer<T: AsyncRead + AsyncWrite + Unpin>(mut io: T) -> io::Result<()> {
    let mut head = Vec::new();
    loop {
        read_head(&mut io, &mut head).await?;
        io.write_all(ANSWER).await?;
        io.flush().await?;
    }
}

/// Reads up to the end of a head. Nobody here sends more before it is answered.
pub(crate) async fn read_head<T: AsyncRead + Unpin>(io: &mut T, head: &mut Vec<u8>) -> io::Result<()> {
    head.clear();
    while !head.ends_with(b"\r\n\r\n") {
        if io.read_buf(head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// The origin's TLS, and the root to trust.
fn tls() -> io::Result<(TlsAcceptor, String)> {
    let mut root = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let root_pem = root.self_signed(&key).map_err(io::Error::other)?.pem();
    let issuer = Issuer::new(root, key);
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let origin = CertificateParams::new(vec![ORIGIN.to_owned()]).map_err(io::Error::other)?;
    let certificate = origin.signed_by(&key, &issuer).map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), root_pem))
}
