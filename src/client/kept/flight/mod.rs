//! One dial for all who wait for the same: a cold burst to an origin that speaks HTTP/2 opens one connection.
//!
//! Whether it does shows only at the end of its handshake. So whoever comes while a dial is under way waits for it, and
//! shares the connection if it can be shared. If it cannot, or if the dial has failed, all go on by themselves, and an
//! origin that is known for HTTP/1.1 is not waited for again. The dial lives in no task: everybody who waits moves it, so
//! that one who is not polled, or goes away, holds up nobody. With the last one the dial ends.

mod waiting;

use super::Key;
use crate::client::connection::Connection;
use crate::exit::Route;
use crate::outcome::Failure;
use hashbrown::HashMap;
use http::uri::Authority;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker, ready};
use waiting::Waiting;

/// Most origins that are known for HTTP/1.1.
const KNOWN: usize = 4096;

type Dial = Pin<Box<dyn Future<Output = Result<Connection, Failure>> + Send>>;

/// The dials that are under way.
#[derive(Default)]
pub(in crate::client) struct Flights(Mutex<State>);

#[derive(Default)]
struct State {
    flights: HashMap<Key, Weak<Flight>>,
    /// Origins that have chosen HTTP/1.1, and their order.
    http1: HashMap<Authority, ()>,
    order: VecDeque<Authority>,
}

struct Flight {
    /// With its login: under another password its failure is not that of who waits, and neither is its connection.
    route: Route,
    /// A connection that was begun before an eviction is not for those who come after it.
    evictions: u32,
    stage: Mutex<Stage>,
    waiting: Arc<Waiting>,
}

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
        poll_fn(|cx| seat.poll(cx)).await
    }

    fn seat<'a>(&'a self, key: &'a Key, route: &Route, dial: impl FnOnce() -> Dial) -> Option<Seat<'a>> {
        let mut state = self.0.lock();
        if state.http1.contains_key(&key.authority) {
            return None;
        }
        let evictions = route.keepers().evictions();
        let joined = state.flights.get(key).and_then(Weak::upgrade);
        let joined = joined.filter(|flight| flight.route == *route && flight.evictions == evictions);
        let flight = joined.unwrap_or_else(|| {
            let stage = Mutex::new(Stage::Dialling(dial()));
            let flight = Flight { route: route.clone(), evictions, stage, waiting: Arc::default() };
            let flight = Arc::new(flight);
            state.flights.insert(key.clone(), Arc::downgrade(&flight));
            flight
        });
        let number = flight.waiting.number();
        Some(Seat { flights: self, key, flight: Some(flight), number })
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
    key: &'a Key,
    /// Until it is dropped.
    flight: Option<Arc<Flight>>,
    number: u64,
}

impl Seat<'_> {
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Connection, Failure>>> {
        let Some(flight) = &self.flight else { return Poll::Ready(None) };
        flight.waiting.add(self.number, cx.waker());
        // Not waited for: whoever moves the dial right now looks afterwards whether somebody came meanwhile.
        let stage = flight.stage.try_lock().or_else(|| {
            flight.waiting.miss();
            flight.stage.try_lock()
        });
        let Some(mut stage) = stage else { return Poll::Pending };
        let moved = match &mut *stage {
            Stage::Over(shared) => {
                let open = shared.as_ref().filter(|connection| !connection.is_closed());
                return Poll::Ready(open.and_then(Connection::share).map(Ok));
            }
            Stage::Dialling(dial) => {
                let all = Waker::from(Arc::clone(&flight.waiting));
                dial.as_mut().poll(&mut Context::from_waker(&all))
            }
        };
        let over = moved.is_ready();
        if let Poll::Ready(dialled) = &moved {
            *stage = Stage::Over(dialled.as_ref().ok().and_then(Connection::share));
        }
        drop(stage);
        flight.waiting.moved(over);
        let dialled = ready!(moved);
        if dialled.as_ref().is_ok_and(|connection| !connection.is_shared()) {
            self.flights.0.lock().speaks_http1(self.key.authority.clone());
        }
        Poll::Ready(Some(dialled))
    }
}

impl Drop for Seat<'_> {
    /// The last one takes the flight off the board; the dial is dropped after the lock.
    fn drop(&mut self) {
        let Some(flight) = self.flight.take() else { return };
        flight.waiting.leave(self.number);
        let mut state = self.flights.0.lock();
        // Under the lock: of two who leave at once, one must be the last.
        let last = Arc::into_inner(flight);
        if last.is_some() && state.flights.get(self.key).is_some_and(|known| known.strong_count() == 0) {
            state.flights.remove(self.key);
        }
        drop(state);
    }
}
