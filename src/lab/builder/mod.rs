//! How a lab is put together.

mod plan;

use super::behaviour::Behaviour;
use super::exit::{self, Front};
use super::gateway::{LabGateway, MAX_GATEWAYS, Provider};
use super::memory::MemoryWorld;
use super::network::Network;
use super::origin;
use super::tls::Authority;
use super::world::World;
use super::{Lab, LabExit, Origin};
use crate::exit::Via;
use plan::{ExitPlan, SitePlan, source};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Most exits of one lab.
pub const MAX_EXITS: usize = 10_000;
/// The delay of [`LabBuilder::slow`].
pub const SLOW: Duration = Duration::from_secs(1);
/// The site's name unless one is given.
const HOST: &str = "shop.test";
/// Where exits listen in memory, which only their specs say.
const MEMORY_PORT: u16 = 8080;

/// Puts a lab together: exits in the order of the calls, from address 127.0.1.1 up, and sites.
///
/// ```
/// use tower_egress::exit::Via;
/// use tower_egress::lab::Lab;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// // Two HTTP proxies, then a SOCKS5 proxy, a dead one, and one at ::1.
/// let lab = Lab::builder().fine(2).via(Via::Socks5h).fine(1).dead(1).ipv6(true).fine(1).start().await?;
/// assert!(lab.exit(1).exit().route().url().starts_with("http://127.0.1.2:"));
/// assert!(lab.exit(2).exit().route().url().starts_with("socks5h://127.0.1.3:"));
/// assert!(lab.exit(4).exit().route().url().starts_with("socks5h://[::1]:"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LabBuilder {
    sites: Vec<SitePlan>,
    exits: Vec<ExitPlan>,
    providers: Vec<Provider>,
    /// For what is added from here on.
    via: Via,
    ipv6: bool,
}

impl Default for LabBuilder {
    fn default() -> Self {
        Self { sites: Vec::new(), exits: Vec::new(), providers: Vec::new(), via: Via::Http, ipv6: false }
    }
}

impl LabBuilder {
    /// Adds a site by its host name, which the exits know and DNS need not. The first is the one that
    /// [`Lab::origin`] and [`Lab::url`] mean; without any there is `shop.test`.
    pub fn site(mut self, host: impl Into<String>) -> Self {
        let host = host.into().to_ascii_lowercase();
        self.sites.push(SitePlan { host, ipv6: self.ipv6 });
        self
    }

    /// Sets how the exits that are added from here on are spoken to. Default an HTTP proxy. What an exit's
    /// [`Exit`](crate::Exit) says is its scheme.
    ///
    /// The certificate of an HTTPS proxy is for its address, `proxy.test`, `localhost`, 127.0.0.1 and ::1. Its root is
    /// [`Lab::ca_pem`], which the client's [`ProxyTls`](crate::exit::ProxyTls) must trust. SOCKS exits know the sites' names, and take connections alone (no BIND, no UDP). With
    /// [`Socks5`](Via::Socks5) and [`Local`](Via::Local) the client resolves the names itself: use [`Lab::direct_url`], or a
    /// resolver that says 127.0.0.1, where a SOCKS exit takes ports 80 and 443 for the first site's. With `Local` there is no
    /// proxy, only the address: it behaves as its client does, and counts nothing. In memory all kinds are alike.
    pub fn via(mut self, via: Via) -> Self {
        self.via = via;
        self
    }

    /// Lets the exits and sites that are added from here on listen at ::1. Default no: at 127.0.x.y and 127.0.0.1. The exits
    /// still leave from their own addresses, but to a site at ::1, which sees everybody as ::1: IPv6 has one loopback address.
    /// Own addresses ([`Via::Local`]) cannot listen there. In memory without effect.
    pub fn ipv6(mut self, ipv6: bool) -> Self {
        self.ipv6 = ipv6;
        self
    }

    /// Adds an exit.
    pub fn exit(self, behaviour: Behaviour) -> Self {
        self.add(1, behaviour, false)
    }

    /// Adds exits that behave alike.
    pub fn exits(self, count: usize, behaviour: Behaviour) -> Self {
        self.add(count, behaviour, false)
    }

    /// Adds exits that do what they should.
    pub fn fine(self, count: usize) -> Self {
        self.add(count, Behaviour::fine(), false)
    }

    /// Adds exits that do what they should, but that every site answers with 403.
    pub fn refused(self, count: usize) -> Self {
        self.add(count, Behaviour::fine(), true)
    }

    /// Adds exits where nothing listens.
    pub fn dead(self, count: usize) -> Self {
        self.add(count, Behaviour::dead(), false)
    }

    /// Adds exits that take [`SLOW`] over each request. For another delay: [`Behaviour::slow`].
    pub fn slow(self, count: usize) -> Self {
        self.add(count, Behaviour::slow(SLOW), false)
    }

    /// Adds a gateway; the first is the one that [`Lab::gateway`] means. Its sessions leave from 127.1.1.1 up, the next
    /// gateway's from 127.2.1.1 up.
    pub fn gateway(mut self, provider: Provider) -> Self {
        if self.providers.len() <= MAX_GATEWAYS {
            self.providers.push(provider);
        }
        self
    }

    fn add(mut self, count: usize, behaviour: Behaviour, refused: bool) -> Self {
        let room = (MAX_EXITS + 1).saturating_sub(self.exits.len());
        let plan = ExitPlan { behaviour, refused, via: self.via, ipv6: self.ipv6 };
        self.exits.extend(std::iter::repeat_n(plan, count.min(room)));
        self
    }

    /// Starts the lab on loopback, in the current runtime.
    ///
    /// # Errors
    /// Two sites of one name, a name that no certificate can have, more than [`MAX_EXITS`] exits or [`MAX_GATEWAYS`]
    /// gateways, a gateway's login that is none or has `{session}` in the wrong places, a login that the exit's protocol
    /// cannot carry, an own address that is to misbehave or to be ::1; that there is no tokio runtime; or that the system gives
    /// no socket. Only Linux (and Windows) answer for all of 127.0.0.0/8: on macOS the exits'
    /// addresses must first be added to `lo0`.
    pub async fn start(self) -> io::Result<Lab> {
        let mut lab = Lab::empty(Authority::generate()?);
        let mut network = Network::default();
        for (origin, ip) in self.origins()? {
            let (plain, tls) = (lab.door(ip)?, lab.door(ip)?);
            network.add(origin.clone(), Some(plain.address()), Some(tls.address()));
            let site = origin.clone();
            plain.serve(move |stream, peer| origin::serve_plain(site.clone(), stream, peer));
            let offers = origin::Offers::of(lab.authority().acceptor(&[origin.host()])?);
            tls.serve(move |stream, peer| origin::serve_tls(origin.clone(), offers.clone(), stream, peer));
            plain.open()?;
            tls.open()?;
        }
        lab.world.network = Arc::new(network);
        for (at, plan) in self.exits.into_iter().enumerate() {
            let exit = open_exit(&mut lab, source(at), &plan)?;
            admit(&mut lab.world, exit, plan.refused);
        }
        for (at, provider) in self.providers.iter().enumerate() {
            let gateway = open_gateway(&mut lab, at, provider)?;
            lab.world.gateways.push(gateway);
        }
        Ok(lab)
    }

    /// The same world without sockets, as a [`Service`](tower::Service) for tests under paused time.
    ///
    /// # Errors
    /// As [`start`](Self::start), but for the system's.
    pub fn in_memory(self) -> io::Result<MemoryWorld> {
        let mut network = Network::default();
        for (origin, _) in self.origins()? {
            network.add(origin, None, None);
        }
        let mut world = World { network: Arc::new(network), ..World::default() };
        for (at, plan) in self.exits.into_iter().enumerate() {
            let source = source(at);
            let exit = plan.exit(SocketAddr::new(source, MEMORY_PORT))?;
            admit(&mut world, LabExit::new(exit, source, plan.behaviour, None), plan.refused);
        }
        for (at, provider) in self.providers.iter().enumerate() {
            let listens = SocketAddr::new(LabGateway::ip(at), MEMORY_PORT);
            world.gateways.push(LabGateway::new(at, provider, listens, None)?);
        }
        Ok(MemoryWorld::new(world))
    }

    /// The sites and where they listen, if all that is planned can be.
    fn origins(&self) -> io::Result<Vec<(Origin, IpAddr)>> {
        let invalid = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if self.exits.len() > MAX_EXITS {
            return invalid("a lab has at most 10,000 exits");
        }
        if self.providers.len() > MAX_GATEWAYS {
            return invalid("a lab has at most 100 gateways");
        }
        if !self.exits.iter().all(ExitPlan::is_possible) {
            return invalid("an own address of a lab has no proxy that could misbehave, and is none of IPv6");
        }
        let mut names = HashSet::new();
        if self.sites.iter().any(|site| site.host.is_empty() || !names.insert(&site.host)) {
            return invalid("each site of a lab needs a name of its own");
        }
        let usual = [SitePlan { host: HOST.to_owned(), ipv6: false }];
        let sites = if self.sites.is_empty() { &usual[..] } else { &self.sites };
        Ok(sites.iter().map(|site| (Origin::new(&site.host), site.ip())).collect())
    }
}

fn open_exit(lab: &mut Lab, source: IpAddr, plan: &ExitPlan) -> io::Result<LabExit> {
    let Some(front) = Front::new(plan.via, lab.authority(), plan.ip(source))? else {
        let own = plan.exit(SocketAddr::new(source, 0))?;
        return Ok(LabExit::new(own, source, plan.behaviour.clone(), None));
    };
    let door = lab.door(plan.ip(source))?;
    let exit = plan.exit(door.address())?;
    let exit = LabExit::new(exit, source, Behaviour::dead(), Some(Arc::clone(&door)));
    let (server, network) = (exit.clone(), Arc::clone(&lab.world.network));
    door.serve(move |stream, _| exit::serve(server.clone(), front.clone(), Arc::clone(&network), stream));
    exit.behave(plan.behaviour.clone())?;
    Ok(exit)
}

fn open_gateway(lab: &mut Lab, at: usize, provider: &Provider) -> io::Result<LabGateway> {
    let door = lab.door(LabGateway::ip(at))?;
    let gateway = LabGateway::new(at, provider, door.address(), Some(Arc::clone(&door)))?;
    let Some(front) = Front::new(provider.via, lab.authority(), door.address().ip())? else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a gateway is no own address"));
    };
    let (server, network) = (gateway.clone(), Arc::clone(&lab.world.network));
    door.serve(move |stream, _| exit::serve(server.clone(), front.clone(), Arc::clone(&network), stream));
    gateway.behave(provider.begins())?;
    Ok(gateway)
}

fn admit(world: &mut World, exit: LabExit, refused: bool) {
    if refused {
        for origin in world.network.origins() {
            origin.ban(exit.source());
        }
    }
    world.exits.push(exit);
}
