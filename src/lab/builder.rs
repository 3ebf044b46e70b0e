//! How a lab is put together.

use super::behaviour::Behaviour;
use super::exit;
use super::gateway::{LabGateway, MAX_GATEWAYS, Provider};
use super::memory::MemoryWorld;
use super::network::Network;
use super::origin;
use super::tls::Authority;
use super::world::World;
use super::{Lab, LabExit, Origin};
use crate::exit::{Credential, Exit};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LabBuilder {
    hosts: Vec<String>,
    plans: Vec<Plan>,
    providers: Vec<Provider>,
}

#[derive(Clone, Debug)]
struct Plan {
    behaviour: Behaviour,
    refused: bool,
}

impl LabBuilder {
    /// Adds a site by its host name, which the exits know and DNS need not. The first is the one that
    /// [`Lab::origin`] and [`Lab::url`] mean; without any there is `shop.test`.
    pub fn site(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
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
        let room = (MAX_EXITS + 1).saturating_sub(self.plans.len());
        let plan = Plan { behaviour, refused };
        self.plans.extend(std::iter::repeat_n(plan, count.min(room)));
        self
    }

    /// Starts the lab on loopback, in the current runtime.
    ///
    /// # Errors
    /// Two sites of one name, a name that no certificate can have, more than [`MAX_EXITS`] exits or [`MAX_GATEWAYS`]
    /// gateways, a gateway's login that is none or has `{session}` in the wrong places; that there is no tokio runtime; or
    /// that the system gives no socket. Only Linux (and Windows) answer for all of 127.0.0.0/8: on macOS the exits'
    /// addresses must first be added to `lo0`.
    pub async fn start(self) -> io::Result<Lab> {
        let mut lab = Lab::empty(Authority::generate()?);
        let mut network = Network::default();
        for origin in self.origins()? {
            let (plain, tls) = (lab.door(LOCALHOST)?, lab.door(LOCALHOST)?);
            network.add(origin.clone(), Some(plain.address()), Some(tls.address()));
            let site = origin.clone();
            plain.serve(move |stream, peer| origin::serve_plain(site.clone(), stream, peer));
            let acceptor = lab.authority().acceptor(origin.host())?;
            tls.serve(move |stream, peer| origin::serve_tls(origin.clone(), acceptor.clone(), stream, peer));
            plain.open()?;
            tls.open()?;
        }
        lab.world.network = Arc::new(network);
        for (at, plan) in self.plans.into_iter().enumerate() {
            let source = source(at);
            let door = lab.door(source)?;
            let exit = spec(source, door.address().port(), plan.behaviour.login.as_ref())?;
            let exit = LabExit::new(exit, source, Behaviour::dead(), Some(Arc::clone(&door)));
            let (server, network) = (exit.clone(), Arc::clone(&lab.world.network));
            door.serve(move |stream, _| exit::serve(server.clone(), Arc::clone(&network), stream));
            exit.behave(plan.behaviour)?;
            admit(&mut lab.world, exit, plan.refused);
        }
        for (at, provider) in self.providers.iter().enumerate() {
            let door = lab.door(LabGateway::ip(at))?;
            let gateway = LabGateway::new(at, provider, door.address(), Some(Arc::clone(&door)))?;
            let (server, network) = (gateway.clone(), Arc::clone(&lab.world.network));
            door.serve(move |stream, _| exit::serve(server.clone(), Arc::clone(&network), stream));
            gateway.behave(provider.begins())?;
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
        for origin in self.origins()? {
            network.add(origin, None, None);
        }
        let mut world = World { network: Arc::new(network), ..World::default() };
        for (at, plan) in self.plans.into_iter().enumerate() {
            let source = source(at);
            let exit = spec(source, MEMORY_PORT, plan.behaviour.login.as_ref())?;
            admit(&mut world, LabExit::new(exit, source, plan.behaviour, None), plan.refused);
        }
        for (at, provider) in self.providers.iter().enumerate() {
            let listens = SocketAddr::new(LabGateway::ip(at), MEMORY_PORT);
            world.gateways.push(LabGateway::new(at, provider, listens, None)?);
        }
        Ok(MemoryWorld::new(world))
    }

    fn origins(&self) -> io::Result<Vec<Origin>> {
        let invalid = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if self.plans.len() > MAX_EXITS {
            return invalid("a lab has at most 10,000 exits");
        }
        if self.providers.len() > MAX_GATEWAYS {
            return invalid("a lab has at most 100 gateways");
        }
        if self.hosts.is_empty() {
            return Ok(vec![Origin::new(HOST)]);
        }
        let mut names = HashSet::new();
        if self.hosts.iter().any(|host| host.is_empty() || !names.insert(host)) {
            return invalid("each site of a lab needs a name of its own");
        }
        Ok(self.hosts.iter().map(|host| Origin::new(host)).collect())
    }
}

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The address of an exit: 127.0.1.1 to 127.0.1.254, then 127.0.2.1 and so on.
fn source(at: usize) -> IpAddr {
    let part = |number: usize| u8::try_from(number + 1).expect("10,000 exits need 40 times 254 addresses");
    IpAddr::V4(Ipv4Addr::new(127, 0, part(at / 254), part(at % 254)))
}

fn spec(source: IpAddr, port: u16, login: Option<&Credential>) -> io::Result<Exit> {
    let encode = |part| utf8_percent_encode(part, NON_ALPHANUMERIC);
    let spec = match login {
        Some(login) => {
            format!("http://{}:{}@{source}:{port}", encode(login.user()), encode(login.password()))
        }
        None => format!("http://{source}:{port}"),
    };
    Exit::parse(&spec).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn admit(world: &mut World, exit: LabExit, refused: bool) {
    if refused {
        for origin in world.network.origins() {
            origin.ban(exit.source());
        }
    }
    world.exits.push(exit);
}
