//! Things in the order of their last use, each under a number that stays its own while it is here. All in constant time.

/// Where something lies.
pub(super) type Slot = u32;

/// By how many places it grows.
const STEP: usize = 16;

/// Things, from the one used last to the one that has rested longest.
pub(super) struct Aged<T> {
    nodes: Vec<Node<T>>,
    free: Vec<Slot>,
    newest: Option<Slot>,
    oldest: Option<Slot>,
}

struct Node<T> {
    what: Option<T>,
    newer: Option<Slot>,
    older: Option<Slot>,
}

impl<T> Default for Aged<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), newest: None, oldest: None }
    }
}

impl<T> Aged<T> {
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&T> {
        self.nodes.get(slot as usize)?.what.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.nodes.get_mut(slot as usize)?.what.as_mut()
    }

    /// What has rested longest.
    pub(super) fn oldest(&self) -> Option<(Slot, &T)> {
        self.oldest.and_then(|slot| Some((slot, self.get(slot)?)))
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (Slot, &T)> {
        (0..).zip(&self.nodes).filter_map(|(slot, node)| Some((slot, node.what.as_ref()?)))
    }

    /// Used now.
    pub(super) fn insert(&mut self, what: T) -> Slot {
        let node = Node { what: Some(what), newer: None, older: None };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot as usize] = node;
                slot
            }
            None => {
                if self.nodes.len() == self.nodes.capacity() {
                    // A few at a time: there are a thousand at most, and twice as much room would stay empty.
                    self.nodes.reserve_exact(STEP);
                }
                self.nodes.push(node);
                // As many connections as there are ports, and there are fewer.
                Slot::try_from(self.nodes.len() - 1).unwrap_or(Slot::MAX)
            }
        };
        self.link(slot);
        slot
    }

    /// Used now, again.
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.newest != Some(slot) && self.get(slot).is_some() {
            self.unlink(slot);
            self.link(slot);
        }
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<T> {
        self.get(slot)?;
        self.unlink(slot);
        self.free.push(slot);
        self.nodes[slot as usize].what.take()
    }

    fn link(&mut self, slot: Slot) {
        let older = self.newest.replace(slot);
        (self.nodes[slot as usize].newer, self.nodes[slot as usize].older) = (None, older);
        match older {
            Some(older) => self.nodes[older as usize].newer = Some(slot),
            None => self.oldest = Some(slot),
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let (newer, older) = (self.nodes[slot as usize].newer, self.nodes[slot as usize].older);
        match newer {
            Some(newer) => self.nodes[newer as usize].older = older,
            None => self.newest = older,
        }
        match older {
            Some(older) => self.nodes[older as usize].newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Aged;
    use crate::draw::{below, mix};

    /// Against a list that is searched from end to end.
    #[test]
    fn it_keeps_the_order_of_a_naive_list() {
        let (mut aged, mut naive) = (Aged::default(), Vec::new());
        for step in 0..2_000_u64 {
            let at = (!naive.is_empty()).then(|| below(mix(step), naive.len()));
            match (at, mix(step ^ 7) % 4) {
                (Some(at), 0) => {
                    let (slot, what) = naive.remove(at);
                    assert_eq!(aged.remove(slot), Some(what));
                    assert_eq!((aged.remove(slot), aged.get(slot)), (None, None));
                }
                (Some(at), 1) => {
                    let used = naive.remove(at);
                    aged.touch(used.0);
                    naive.push(used);
                }
                _ => naive.push((aged.insert(step), step)),
            }
            assert_eq!(aged.len(), naive.len());
            assert_eq!(aged.oldest().map(|(slot, what)| (slot, *what)), naive.first().copied());
            assert!(naive.iter().all(|(slot, what)| aged.get(*slot) == Some(what)));
        }
        assert!(naive.len() > 100);
    }
}
