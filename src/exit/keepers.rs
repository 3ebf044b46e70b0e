//! Who keeps connections for an exit, so that they can be told to let go.

use super::ExitId;
use parking_lot::Mutex;
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most clients that are remembered for one exit. One more is not told; its connections end by idling.
const MOST: usize = 8;

/// Keeps connections for exits.
pub(crate) trait Keeper: Send + Sync {
    /// Closes those of an exit that are not in use.
    fn evict(&self, exit: ExitId);
}

/// The keepers of one exit. Empty, it has no allocation: most exits of a large pool have no connection.
#[derive(Default)]
pub(crate) struct Keepers {
    evictions: AtomicU32,
    /// Boxed, since few exits of a large pool have any.
    keepers: Mutex<Option<Box<Vec<Weak<dyn Keeper>>>>>,
}

impl Keepers {
    /// How often connections were evicted: one that was begun at another count is not to be kept.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "the client keeps connections"))]
    pub(crate) fn evictions(&self) -> u32 {
        self.evictions.load(Ordering::Acquire)
    }

    /// A keeper that wants to be told, once.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "the client keeps connections"))]
    pub(crate) fn add(&self, keeper: &Weak<dyn Keeper>) {
        let mut keepers = self.keepers.lock();
        let keepers = keepers.get_or_insert_default();
        if keepers.iter().any(|known| known.ptr_eq(keeper)) {
            return;
        }
        keepers.retain(|known| known.strong_count() > 0);
        if keepers.len() < MOST {
            // Mostly there is one.
            keepers.reserve_exact(1);
            keepers.push(keeper.clone());
        }
    }

    /// The count is raised first: whoever checks a connection in after it sees that it came too late.
    pub(super) fn evict(&self, exit: ExitId) {
        self.evictions.fetch_add(1, Ordering::AcqRel);
        let keepers = self.keepers.lock().clone();
        for keeper in keepers.iter().flat_map(|keepers| keepers.iter()).filter_map(Weak::upgrade) {
            keeper.evict(exit);
        }
    }
}
