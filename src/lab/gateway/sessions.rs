//! Which session leaves from which address.

use super::mood::Current;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Most sessions that a gateway remembers; requests with further tokens are answered 503.
pub const MAX_SESSIONS: usize = 65_536;

/// The addresses of one gateway: 127.1.1.1 to 127.1.1.254, then 127.1.2.1 and so on; the next gateway has 127.2.
#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) gateway: u8,
    pub(super) count: u16,
}

/// Most addresses of one gateway.
pub(super) const MAX_ADDRESSES: u16 = 254 * 254;

impl Addresses {
    /// The address of a number; past the last one they begin anew.
    pub(super) fn at(self, number: u64) -> IpAddr {
        let at = number % u64::from(self.count.clamp(1, MAX_ADDRESSES));
        let part = |number: u64| u8::try_from(number + 1).expect("there are 254 times 254 addresses");
        IpAddr::V4(Ipv4Addr::new(127, self.gateway, part(at / 254), part(at % 254)))
    }

    pub(super) fn hold(self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else { return false };
        let [_, gateway, high, low] = address.octets();
        let valid = gateway == self.gateway && (1..=254).contains(&high) && (1..=254).contains(&low);
        valid && u32::from(high - 1) * 254 + u32::from(low - 1) < self.count.into()
    }
}

/// A session of a gateway: a token, and the address that it leaves from.
#[derive(Clone)]
pub struct LabSession {
    token: String,
    address: IpAddr,
    requests: u64,
}

impl LabSession {
    /// The token that clients gave.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The address it leaves from, and so the peer that origins see.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    pub(super) fn count(&mut self) {
        self.requests += 1;
    }

    /// CONNECTs and requests with this token, those included that its mood refused.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }
}

/// Leaves the token out: it is half a login.
impl fmt::Debug for LabSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabSession")
            .field("address", &self.address)
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

pub(super) struct Sessions {
    addresses: Addresses,
    by_token: HashMap<String, usize>,
    all: Vec<(LabSession, Current)>,
}

impl Sessions {
    pub(super) fn new(addresses: Addresses) -> Self {
        Self { addresses, by_token: HashMap::new(), all: Vec::new() }
    }

    /// The session of a token, which has the next address if it is new; `None` if there is no place for it.
    pub(super) fn of(&mut self, token: &str) -> Option<(&mut LabSession, &mut Current)> {
        let at = match self.by_token.get(token) {
            Some(at) => *at,
            None if self.all.len() >= MAX_SESSIONS => return None,
            None => {
                let at = self.all.len();
                let session = LabSession {
                    token: token.to_owned(),
                    address: self.addresses.at(at as u64),
                    requests: 0,
                };
                self.all.push((session, Current::default()));
                self.by_token.insert(token.to_owned(), at);
                at
            }
        };
        self.all.get_mut(at).map(|(session, mood)| (session, mood))
    }

    pub(super) fn find(&self, token: &str) -> Option<&LabSession> {
        self.by_token.get(token).map(|at| &self.all[*at].0)
    }

    pub(super) fn all(&self) -> Vec<LabSession> {
        self.all.iter().map(|(session, _)| session.clone()).collect()
    }
}
