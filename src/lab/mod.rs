//! A misbehaving world for tests: sites and exits in this process, on loopback or in memory.
//!
//! A [`Lab`] has sites that refuse, limit, dawdle and break off as scripted and record who asked for what, and proxies (HTTP,
//! HTTPS, SOCKS5: [`LabBuilder::via`]) that each leave from an address of their own, 127.0.x.y. So the peer that a site sees names the exit that a request
//! went through, and a request that went direct shows as 127.0.0.1. The exits know the sites' names and reach nothing
//! else: no DNS, no request that leaves the machine. The same world in memory, for tests under paused time, is
//! [`LabBuilder::in_memory`].
//!
//! Gateways are there as well: one socket each, with an address behind it for every session token ([`Provider`]), and
//! [`Mood`]s to meet.
//!
//! ```
//! use http::{Request, StatusCode};
//! use tower::{Layer as _, ServiceExt as _};
//! use tower_egress::lab::{Lab, Mood, Provider};
//! use tower_egress::{EgressLayer, Gateway, LeaseRequest, Scheduler};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let world = Lab::builder().gateway(Provider::sessions()).in_memory()?; // or .start().await? on loopback
//! let scheduler = Scheduler::builder().gateway(Gateway::parse(&world.gateway().template())?).build()?;
//! let client = EgressLayer::new(&scheduler).layer(world.clone());
//! let get = |key: &str| {
//!     Request::get(world.url("/p/1")).extension(LeaseRequest::new(key)).body(String::new()).expect("a request")
//! };
//! for key in ["sku-1", "sku-2", "sku-1"] {
//!     client.clone().oneshot(get(key)).await?;
//! }
//! let sessions = world.gateway().sessions(); // a token a key
//! assert_eq!(sessions.iter().map(|session| session.requests()).collect::<Vec<_>>(), [2, 1]);
//! assert_eq!(world.origin().seen()[2].peer(), sessions[0].address());
//!
//! world.gateway().behave(Mood::login_refused())?;
//! let refused = client.oneshot(get("sku-1")).await?;
//! assert_eq!(refused.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED);
//! assert_eq!(world.gateway().passed(), 3, "what a provider would bill");
//! # Ok(())
//! # }
//! ```
//!
//! A test of your own, here with a raw request through an exit:
//!
//! ```
//! use std::time::Duration;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::TcpStream;
//! use tower_egress::lab::{Lab, Reply};
//!
//! /// Fetches a page through an exit, as a proxy's client does.
//! async fn fetch(lab: &Lab, exit: usize, path: &str) -> std::io::Result<String> {
//!     let route = lab.exits().iter().nth(exit).expect("such an exit").route().clone();
//!     let mut proxy = TcpStream::connect((route.host(), route.port())).await?;
//!     let url = lab.url(path);
//!     proxy.write_all(format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes()).await?;
//!     let mut answer = String::new();
//!     proxy.read_to_string(&mut answer).await?;
//!     Ok(answer)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! // Two exits that work, one that the site refuses, one where nothing listens.
//! let lab = Lab::builder().fine(2).refused(1).dead(1).start().await?;
//! lab.origin().page("/p/1", Reply::page("9.99"));
//! lab.origin().limit(1, Duration::from_secs(60));
//!
//! assert!(fetch(&lab, 0, "/p/1").await?.ends_with("9.99"));
//! assert!(fetch(&lab, 0, "/p/1").await?.contains("retry-after: "), "one request a minute for each exit");
//! assert!(fetch(&lab, 2, "/p/1").await?.starts_with("HTTP/1.1 403"));
//! assert!(fetch(&lab, 3, "/p/1").await.is_err(), "connection refused");
//!
//! // What the site saw: the exits' addresses, and nobody else's.
//! let peers: Vec<_> = lab.origin().seen().iter().map(|seen| seen.peer()).collect();
//! assert_eq!(peers, [0, 0, 2].map(|exit| lab.exit(exit).source()));
//! # Ok(())
//! # }
//! ```
//!
//! Everything is bounded: [`MAX_EXITS`] exits, [`MAX_GATEWAYS`] gateways with [`MAX_SESSIONS`] sessions each,
//! [`MAX_CONNECTIONS`] connections at once per socket, [`MAX_RECORD`] recorded requests per site. The lab draws no
//! random numbers; only its ports differ from run to run.

mod behaviour;
mod broken;
mod builder;
mod clock;
mod digest;
mod door;
mod exit;
mod gateway;
mod lock;
mod loopback;
pub mod memory;
mod network;
mod origin;
mod proxy;
mod record;
mod reply;
mod seen;
pub mod sim;
mod socks;
mod tally;
mod tls;
mod wire;
mod world;

pub use behaviour::Behaviour;
pub use broken::Broken;
pub use builder::{LabBuilder, MAX_EXITS, SLOW};
pub use door::MAX_CONNECTIONS;
pub use exit::LabExit;
pub use gateway::{LabGateway, LabSession, MAX_GATEWAYS, MAX_SESSIONS, Mood, Provider};
pub use loopback::Lab;
pub use memory::MemoryWorld;
pub use origin::Origin;
pub use record::{MAX_RECORD, PeerCounts};
pub use reply::{Reply, ReplyBody};
pub use seen::SeenRequest;
pub use socks::SocksReply;
pub use tally::Traffic;
