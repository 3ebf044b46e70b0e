//! Exits: proxies that each leave from an address of their own.

mod forward;
mod front;
mod hop;
mod serve;
mod socks;
mod tunnel;

pub(super) use front::{Front, serve};

use super::door::Door;
use super::lock::Lock;
use super::proxy::{self, Ask, Meeting, Proxy, Socks};
use super::tally::Tally;
use super::{Behaviour, Traffic};
use crate::exit::Exit;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// An exit of the lab: a proxy on a port of its own, of the kind that [`LabBuilder::via`](super::LabBuilder::via) says, that
/// leaves from an address of its own. A clone is a handle on the same exit, and its behaviour can be changed while requests run.
#[derive(Clone)]
pub struct LabExit(Arc<Inner>);

struct Inner {
    exit: Exit,
    source: IpAddr,
    behaviour: Lock<Behaviour>,
    tally: Tally,
    /// `None` in memory.
    door: Option<Arc<Door>>,
}

impl LabExit {
    pub(super) fn new(exit: Exit, source: IpAddr, behaviour: Behaviour, door: Option<Arc<Door>>) -> Self {
        Self(Arc::new(Inner { exit, source, behaviour: Lock::new(behaviour), tally: Tally::default(), door }))
    }

    /// The exit as the crate's own type: its address, and the login it was built to ask for.
    #[must_use]
    pub fn exit(&self) -> &Exit {
        &self.0.exit
    }

    /// The address it leaves from, and so the peer that origins see: 127.0.x.y.
    #[must_use]
    pub fn source(&self) -> IpAddr {
        self.0.source
    }

    /// Where it listens; `None` in memory.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.door.as_ref().map(|door| door.address())
    }

    /// Changes how it behaves. Requests that have begun keep the behaviour they met, except that a dead exit drops its
    /// connections. When this returns, a dead exit refuses connections and any other accepts them.
    ///
    /// # Errors
    /// The lab has stopped, or the system gives no socket. Nothing has changed then.
    pub fn behave(&self, behaviour: Behaviour) -> io::Result<()> {
        let mut current = self.0.behaviour.lock();
        match &self.0.door {
            Some(door) if behaviour.dead => door.shut(),
            Some(door) => door.open()?,
            None => {}
        }
        *current = behaviour;
        Ok(())
    }

    /// Lets it die: connections are dropped, new ones refused.
    pub fn kill(&self) {
        let mut current = self.0.behaviour.lock();
        if let Some(door) = &self.0.door {
            door.shut();
        }
        current.dead = true;
    }

    /// Lets it live again, at the same address, with the behaviour it had apart from being dead.
    ///
    /// # Errors
    /// As [`behave`](Self::behave).
    pub fn heal(&self) -> io::Result<()> {
        let behaviour = Behaviour { dead: false, ..self.behaviour() };
        self.behave(behaviour)
    }

    /// How it behaves now.
    pub fn behaviour(&self) -> Behaviour {
        self.0.behaviour.lock().clone()
    }

    /// What it did so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.0.tally.traffic()
    }
}

impl Proxy for LabExit {
    fn tally(&self) -> &Tally {
        &self.0.tally
    }

    fn is_dead(&self) -> bool {
        self.0.behaviour.lock().dead
    }

    fn socks(&self) -> Socks {
        let behaviour = self.0.behaviour.lock();
        Socks { asks_login: behaviour.login.is_some(), reply: behaviour.on_socks.clone() }
    }

    fn meet(&self, ask: Ask<'_>) -> Meeting {
        self.0.tally.request(ask.connect);
        let behaviour = self.behaviour();
        let own = if behaviour.lets_in(ask.login) {
            behaviour.own_answer(ask.connect)
        } else {
            self.0.tally.refused_login();
            Some(proxy::login_refused())
        };
        Meeting {
            source: self.0.source,
            delay: behaviour.delay,
            own,
            cut_after: behaviour.cut_after,
            closes_after_answer: behaviour.closes_after_answer,
        }
    }
}

impl fmt::Debug for LabExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabExit")
            .field("exit", &self.0.exit)
            .field("source", &self.0.source)
            .field("behaviour", &self.behaviour())
            .field("traffic", &self.traffic())
            .finish_non_exhaustive()
    }
}
