//! What is planned for an exit and for a site.

use crate::exit::{Credential, Exit, Via};
use crate::lab::Behaviour;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[derive(Clone, Debug)]
pub(super) struct ExitPlan {
    pub(super) behaviour: Behaviour,
    pub(super) refused: bool,
    pub(super) via: Via,
    pub(super) ipv6: bool,
}

#[derive(Clone, Debug)]
pub(super) struct SitePlan {
    pub(super) host: String,
    pub(super) ipv6: bool,
}

impl ExitPlan {
    /// Where it listens: at the address that it leaves from, or at ::1.
    pub(super) const fn ip(&self, source: IpAddr) -> IpAddr {
        if self.ipv6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { source }
    }

    /// The exit as the crate takes it.
    pub(super) fn exit(&self, listens: SocketAddr) -> io::Result<Exit> {
        let scheme = match self.via {
            Via::Local => return Ok(Exit::local(listens.ip())),
            via => via.scheme(),
        };
        let login = self.behaviour.login.as_ref().map_or_else(String::new, in_spec);
        Exit::parse(&format!("{scheme}://{login}{listens}"))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    /// Whether it can be played: between an own address and the origin there is nobody who could misbehave.
    pub(super) fn is_possible(&self) -> bool {
        self.via != Via::Local || self.behaviour.is_plain() && !self.ipv6
    }
}

impl SitePlan {
    pub(super) const fn ip(&self) -> IpAddr {
        if self.ipv6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) }
    }
}

fn in_spec(login: &Credential) -> String {
    let encode = |part| utf8_percent_encode(part, NON_ALPHANUMERIC);
    format!("{}:{}@", encode(login.user()), encode(login.password()))
}

/// The address of an exit: 127.0.1.1 to 127.0.1.254, then 127.0.2.1 and so on.
pub(super) fn source(at: usize) -> IpAddr {
    let part = |number: usize| u8::try_from(number + 1).expect("10,000 exits need 40 times 254 addresses");
    IpAddr::V4(Ipv4Addr::new(127, 0, part(at / 254), part(at % 254)))
}
