//! Where the lab's names lead. Exits reach the lab's origins and nothing else, so no DNS is needed and no request leaves.

use super::Origin;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

#[derive(Default)]
pub(super) struct Network {
    sites: Vec<Site>,
    by_name: HashMap<String, usize>,
}

struct Site {
    origin: Origin,
    plain: Option<SocketAddr>,
    tls: Option<SocketAddr>,
}

impl Network {
    pub(super) fn add(&mut self, origin: Origin, plain: Option<SocketAddr>, tls: Option<SocketAddr>) {
        self.by_name.insert(origin.host().to_owned(), self.sites.len());
        self.sites.push(Site { origin, plain, tls });
    }

    /// The socket that a host and port lead to: ports 80 and 443 of a site's name, or the address of one of its sockets. Ports
    /// 80 and 443 of that address are the first site's there: who resolved a name by himself asks for them.
    pub(super) fn address(&self, host: &str, port: u16) -> Option<SocketAddr> {
        if let Some(site) = self.site(host) {
            return match port {
                80 => site.plain,
                443 => site.tls,
                _ => None,
            };
        }
        let ip = literal(host)?;
        let asked = SocketAddr::new(ip, port);
        if self.sockets().any(|socket| socket == asked) {
            return Some(asked);
        }
        let mut there = self.sockets().filter(|socket| socket.ip() == ip);
        match port {
            80 => there.next(),
            443 => there.nth(1),
            _ => None,
        }
    }

    /// Whether a host is one of the lab's, whatever the port.
    pub(super) fn knows(&self, host: &str) -> bool {
        let at = |ip| self.sockets().any(|socket| socket.ip() == ip);
        self.site(host).is_some() || literal(host).is_some_and(at)
    }

    /// Of each site the plain one and the one with TLS.
    fn sockets(&self) -> impl Iterator<Item = SocketAddr> {
        self.sites.iter().flat_map(|site| [site.plain, site.tls]).flatten()
    }

    /// The site that a host leads to, in memory.
    pub(super) fn origin(&self, host: &str) -> Option<&Origin> {
        self.site(host).map(|site| &site.origin)
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.sites.iter().map(|site| &site.origin)
    }

    fn site(&self, host: &str) -> Option<&Site> {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.by_name.get(&host).map(|at| &self.sites[*at])
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    if host == "localhost" { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { host.parse().ok() }
}
