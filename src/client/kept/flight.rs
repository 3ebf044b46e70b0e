//! One dial for all who wait for the same: a cold burst to an origin that speaks HTTP/2 opens one connection.
//!
//! Whether it does shows only at the end of its handshake. So whoever comes by the same route while a dial is under way waits
//! for it, and shares the connection if it can be shared. If it cannot, or if the dial has failed, all go on by themselves, and an
//! origin that is known for HTTP/1.1 is not waited for again. The dial lives in no task: whoever waits first moves it, and
//! if it goes away the next one does. With the last one the dial ends.

use super::Key;
use crate::client::connection::Connection;
use crate::exit::Route;
use crate::outcome::Failure;
use hashbrown::HashMap;
use http::uri::Authority;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

/// Most origins that are known for HTTP/1.1.
const KNOWN: usize = 4096;

type Dial = Pin<Box<dyn Future<Output = Result<Connection, Failure>> + Send>>;

/// The dials that are under way.
#[derive(Default)]
pub(in crate::client) struct Flights(Mutex<State>);

#[derive(Default)]
struct State {
    flights: HashMap<Key, UnderWay>,
    /// Origins that have chosen HTTP/1.1, and their order.
    http1: HashMap<Authority, ()>,
    order: VecDeque<Authority>,
}

/// A dial, and the login and TLS that it uses: the key names neither.
struct UnderWay {
    route: Route,
    flight: Weak<Flight>,
}

/// Held by whoever moves the dial; the next in line takes it when it is over, or when that one goes away.
type Flight = tokio::sync::Mutex<Stage>;

enum Stage {
    Dialling(Dial),
    /// Over: here is one to share, if there is.
    Over(Option<Connection>),
}

impl Flights {
    /// A connection that others may have dialled, or `None` if everybody must dial alone.
    pub(in crate::client) async fn join(
        &self,
        key: &Key,
        route: &Route,
        dial: impl FnOnce() -> Dial,
    ) -> Option<Result<Connection, Failure>> {
        let seat = self.seat(key, route, dial)?;
        let mut stage = seat.flight.as_ref()?.lock().await;
        match &mut *stage {
            Stage::Over(shared) => shared.as_ref().and_then(Connection::share).map(Ok),
            Stage::Dialling(dial) => {
                let dialled = dial.await;
                let shared = dialled.as_ref().ok().and_then(Connection::share);
                if dialled.is_ok() && shared.is_none() {
                    self.0.lock().speaks_http1(key.authority.clone());
                }
                *stage = Stage::Over(shared);
                Some(dialled)
            }
        }
    }

    fn seat(&self, key: &Key, route: &Route, dial: impl FnOnce() -> Dial) -> Option<Seat<'_>> {
        let mut state = self.0.lock();
        if state.http1.contains_key(&key.authority) {
            return None;
        }
        let under_way = state.flights.get(key).filter(|known| known.flight.strong_count() > 0);
        if under_way.is_some_and(|known| known.route != *route) {
            return None;
        }
        let flight = under_way.and_then(|known| known.flight.upgrade()).unwrap_or_else(|| {
            let flight = Arc::new(Flight::new(Stage::Dialling(dial())));
            let known = UnderWay { route: route.clone(), flight: Arc::downgrade(&flight) };
            state.flights.insert(key.clone(), known);
            flight
        });
        Some(Seat { flights: self, key: key.clone(), flight: Some(flight) })
    }

    /// An origin has chosen HTTP/2 after all.
    pub(in crate::client) fn speaks_http2(&self, authority: &Authority) {
        let mut state = self.0.lock();
        if state.http1.remove(authority).is_some() {
            state.order.retain(|known| known != authority);
        }
    }
}

impl State {
    fn speaks_http1(&mut self, authority: Authority) {
        if self.http1.insert(authority.clone(), ()).is_none() {
            self.order.push_back(authority);
        }
        if self.order.len() > KNOWN {
            let oldest = self.order.pop_front();
            oldest.and_then(|oldest| self.http1.remove(&oldest));
        }
    }
}

/// A place among those who wait for a dial.
struct Seat<'a> {
    flights: &'a Flights,
    key: Key,
    /// Until it is dropped.
    flight: Option<Arc<Flight>>,
}

impl Drop for Seat<'_> {
    /// The last one takes the flight off the board; the dial is dropped after the lock.
    fn drop(&mut self) {
        let mut state = self.flights.0.lock();
        // Under the lock: of two that leave at once, one is the last.
        let last = self.flight.take().and_then(Arc::into_inner);
        if last.is_some() {
            state.flights.remove(&self.key);
        }
        drop(state);
        drop(last);
    }
}
