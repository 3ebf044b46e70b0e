//! The clients that are kept: the latest used, each with the route it was made for.

use crate::exit::{ExitId, Route};
use hashbrown::HashMap;
use std::num::NonZeroUsize;

/// A bounded map that forgets what was used least recently, in constant time. The list is linked by exits, so it needs no
/// slots of its own. What falls out is returned: to drop a client may run anything, and is not for the holder of a lock.
pub(super) struct Clients<S> {
    max: NonZeroUsize,
    by_exit: HashMap<ExitId, Entry<S>>,
    newest: Option<ExitId>,
    oldest: Option<ExitId>,
}

struct Entry<S> {
    route: Route,
    client: S,
    newer: Option<ExitId>,
    older: Option<ExitId>,
}

impl<S> Clients<S> {
    pub(super) fn new(max: NonZeroUsize) -> Self {
        Self { max, by_exit: HashMap::new(), newest: None, oldest: None }
    }

    pub(super) const fn max(&self) -> NonZeroUsize {
        self.max
    }

    pub(super) fn len(&self) -> usize {
        self.by_exit.len()
    }

    /// The client of this very route, login included; it is the newest now.
    pub(super) fn get(&mut self, route: &Route) -> Option<&S> {
        let exit = route.exit();
        if self.by_exit.get(&exit)?.route != *route {
            return None;
        }
        if self.newest != Some(exit) {
            self.unlink(exit);
            self.link(exit);
        }
        self.by_exit.get(&exit).map(|entry| &entry.client)
    }

    /// Keeps a client in place of that of another login, and of the oldest if there is no room. Returns what it replaces.
    pub(super) fn insert(&mut self, route: Route, client: S) -> Option<S> {
        let exit = route.exit();
        let replaced = self.remove(exit).or_else(|| {
            let full = self.by_exit.len() >= self.max.get();
            self.oldest.filter(|_| full).and_then(|oldest| self.remove(oldest))
        });
        self.by_exit.insert(exit, Entry { route, client, newer: None, older: None });
        self.link(exit);
        replaced
    }

    pub(super) fn remove(&mut self, exit: ExitId) -> Option<S> {
        self.unlink(exit);
        self.by_exit.remove(&exit).map(|entry| entry.client)
    }

    /// Makes an entry that is not in the list its newest.
    fn link(&mut self, exit: ExitId) {
        let older = self.newest.replace(exit);
        if let Some(entry) = self.by_exit.get_mut(&exit) {
            (entry.newer, entry.older) = (None, older);
        }
        match older.and_then(|older| self.by_exit.get_mut(&older)) {
            Some(older) => older.newer = Some(exit),
            None => self.oldest = Some(exit),
        }
    }

    /// Takes an entry out of the list, if there is one.
    fn unlink(&mut self, exit: ExitId) {
        let Some(&Entry { newer, older, .. }) = self.by_exit.get(&exit) else { return };
        match newer.and_then(|newer| self.by_exit.get_mut(&newer)) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match older.and_then(|older| self.by_exit.get_mut(&older)) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clients;
    use crate::draw::{below, mix};
    use crate::exit::{Exit, ExitId, Route};
    use std::collections::VecDeque;
    use std::num::NonZeroUsize;

    fn draw(stream: u64, step: u64, n: usize) -> usize {
        below(mix(mix(stream) ^ step), n)
    }

    fn route(exit: usize, password: usize) -> Route {
        Exit::parse(&format!("http://user-{exit}:{password}@gw.example:7000")).unwrap().route().clone()
    }

    fn ids<S>(clients: &Clients<S>) -> (Vec<ExitId>, Vec<ExitId>) {
        let walk = |from, next: fn(&super::Entry<S>) -> Option<ExitId>| {
            std::iter::successors(from, |at| next(&clients.by_exit[at])).collect()
        };
        (walk(clients.newest, |entry| entry.older), walk(clients.oldest, |entry| entry.newer))
    }

    /// Against a queue that is searched from end to end: what is found, what falls out, and the order, both ways.
    #[test]
    fn it_forgets_what_a_naive_queue_forgets() {
        for max in [1, 2, 7] {
            let mut clients = Clients::new(NonZeroUsize::new(max).unwrap());
            let mut model = VecDeque::<(Route, u64)>::new();
            for step in 0..3_000 {
                let exit = draw(1, step, 12);
                let route = route(exit, draw(2, step, 2));
                let same = model.iter().position(|(kept, _)| kept.exit() == route.exit());
                match draw(3, step, 8) {
                    0 => {
                        let gone = same.and_then(|at| model.remove(at)).map(|(_, client)| client);
                        assert_eq!(clients.remove(route.exit()), gone);
                    }
                    1..5 => {
                        let found = same.filter(|at| model[*at].0 == route).and_then(|at| model.remove(at));
                        model.extend(found.clone());
                        assert_eq!(clients.get(&route).copied(), found.map(|(_, client)| client));
                    }
                    _ => {
                        let full = (model.len() == max).then_some(0);
                        let gone = same.or(full).and_then(|at| model.remove(at)).map(|(_, client)| client);
                        model.push_back((route.clone(), step));
                        assert_eq!(clients.insert(route, step), gone);
                    }
                }
                let (mut down, up) = ids(&clients);
                assert_eq!(up, model.iter().map(|(kept, _)| kept.exit()).collect::<Vec<_>>());
                down.reverse();
                assert_eq!((down, clients.len()), (up, model.len()));
            }
        }
    }
}
