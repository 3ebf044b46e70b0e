//! Exits: proxies that each leave from an address of their own.

mod forward;
mod hop;
mod serve;
mod tunnel;

pub(super) use serve::serve;

use super::Behaviour;
use super::door::Door;
use super::lock::Lock;
use super::wire::Meter;
use crate::exit::Exit;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An exit of the lab: an HTTP proxy (absolute-form and CONNECT) on a port of its own, that leaves from an address of its
/// own. A clone is a handle on the same exit, and its behaviour can be changed while requests run.
#[derive(Clone)]
pub struct LabExit(Arc<Inner>);

struct Inner {
    exit: Exit,
    source: IpAddr,
    behaviour: Lock<Behaviour>,
    meter: Arc<Meter>,
    connections: AtomicU64,
    connects: AtomicU64,
    requests: AtomicU64,
    refused_logins: AtomicU64,
    /// `None` in memory.
    door: Option<Arc<Door>>,
}

/// What an exit did so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Traffic {
    /// Connections of clients. In memory there are none.
    pub connections: u64,
    /// CONNECTs asked for. In memory each request to an `https` URI counts as one.
    pub connects: u64,
    /// Absolute-form requests.
    pub requests: u64,
    /// Of these and the CONNECTs, those answered 407.
    pub refused_logins: u64,
    /// Bytes read from clients, heads and TLS included. In memory: bytes of request bodies.
    pub bytes_in: u64,
    /// Bytes written to clients, heads and TLS included. In memory: bytes of response bodies.
    pub bytes_out: u64,
}

impl LabExit {
    pub(super) fn new(exit: Exit, source: IpAddr, behaviour: Behaviour, door: Option<Arc<Door>>) -> Self {
        Self(Arc::new(Inner {
            exit,
            source,
            behaviour: Lock::new(behaviour),
            meter: Arc::default(),
            connections: AtomicU64::new(0),
            connects: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            refused_logins: AtomicU64::new(0),
            door,
        }))
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
        Traffic {
            connections: self.0.connections.load(Ordering::Relaxed),
            connects: self.0.connects.load(Ordering::Relaxed),
            requests: self.0.requests.load(Ordering::Relaxed),
            refused_logins: self.0.refused_logins.load(Ordering::Relaxed),
            bytes_in: self.0.meter.read(),
            bytes_out: self.0.meter.written(),
        }
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.0.meter)
    }

    pub(super) fn count_request(&self, connect: bool) {
        let counter = if connect { &self.0.connects } else { &self.0.requests };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refused_login(&self) {
        self.0.refused_logins.fetch_add(1, Ordering::Relaxed);
    }

    fn count_connection(&self) {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
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
