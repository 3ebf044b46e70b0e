//! The lab on loopback sockets.

use super::door::Door;
use super::tls::Authority;
use super::world::World;
use super::{LabBuilder, LabExit, LabGateway, Origin};
use crate::exit::ExitList;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// A running lab. It needs real time: under paused time use [`LabBuilder::in_memory`]. Dropping it closes its ports before the drop returns and ends every connection; handles on its exits
/// and sites keep what was counted.
pub struct Lab {
    pub(super) world: World,
    authority: Authority,
    doors: Vec<Arc<Door>>,
}

impl Lab {
    /// Puts a lab together.
    pub fn builder() -> LabBuilder {
        LabBuilder::default()
    }

    pub(super) fn empty(authority: Authority) -> Self {
        let world = World::default();
        Self { world, authority, doors: Vec::new() }
    }

    /// A socket that closes with the lab.
    pub(super) fn door(&mut self, ip: IpAddr) -> io::Result<Arc<Door>> {
        let door = Door::at(ip)?;
        self.doors.push(Arc::clone(&door));
        Ok(door)
    }

    pub(super) const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The exits as the crate takes them, in the order they were built, the dead ones included.
    #[must_use]
    pub fn exits(&self) -> ExitList {
        self.world.exit_list()
    }

    /// An exit, counted from 0 in the order they were built.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn exit(&self, at: usize) -> &LabExit {
        &self.world.exits[at]
    }

    /// The exit that leaves from this address: whose request a site has seen. `None` for 127.0.0.1, which is nobody's, and for
    /// ::1, from which all of them reach a site there.
    #[must_use]
    pub fn exit_at(&self, source: IpAddr) -> Option<&LabExit> {
        self.world.exit_at(source)
    }

    /// The first gateway.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn gateway(&self) -> &LabGateway {
        &self.world.gateways[0]
    }

    /// The gateways in the order they were built.
    #[must_use]
    pub fn gateways(&self) -> &[LabGateway] {
        &self.world.gateways
    }

    /// The gateway with a session at this address: whose request a site has seen.
    #[must_use]
    pub fn gateway_at(&self, source: IpAddr) -> Option<&LabGateway> {
        self.world.gateway_at(source)
    }

    /// The first site.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.world.origin()
    }

    /// A site by its name.
    #[must_use]
    pub fn site(&self, host: &str) -> Option<&Origin> {
        self.world.network.origin(host)
    }

    /// A page of the first site, like `http://shop.test/p/1`. Only the lab's exits know the name.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.world.url("http", path)
    }

    /// A page of the first site through TLS, like `https://shop.test/p/1`. Trust [`ca_pem`](Self::ca_pem) for it.
    #[must_use]
    pub fn tls_url(&self, path: &str) -> String {
        self.world.url("https", path)
    }

    /// A page of the first site by the address of its socket, like `http://127.0.0.1:40123/p/1`. The exits reach it as
    /// well, and so would a client that goes direct: for tests that none does.
    #[must_use]
    pub fn direct_url(&self, path: &str) -> String {
        self.direct("http", 0, path)
    }

    /// The same through TLS, like `https://127.0.0.1:40124/p/1`. Trust [`ca_pem`](Self::ca_pem) for it.
    #[must_use]
    pub fn direct_tls_url(&self, path: &str) -> String {
        self.direct("https", 1, path)
    }

    /// The first two doors are the first site's.
    fn direct(&self, scheme: &str, door: usize, path: &str) -> String {
        let slash = if path.starts_with('/') { "" } else { "/" };
        format!("{scheme}://{}{slash}{path}", self.doors[door].address())
    }

    /// The root certificate of all sites and of the exits that are HTTPS proxies, in PEM: new with each lab, and trusted by
    /// nobody else. A site's certificate is for its name, `localhost`, 127.0.0.1 and ::1; an exit's for its address,
    /// `proxy.test`, and those.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        self.authority.pem()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for door in &self.doors {
            door.close();
        }
    }
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("world", &self.world).finish_non_exhaustive()
    }
}
