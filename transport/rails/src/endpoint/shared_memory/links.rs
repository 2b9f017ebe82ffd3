//! The links of an endpoint in shared memory, by peer, and those being set up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, fence};

use fishplate_engine::VcId;
use fishplate_rails_shm::SharedMemoryLink;
use fishplate_rails_shm::setup::{Arriving, Listener, Offered};
use slab::Slab;

/// The links, by key.
#[derive(Default)]
pub struct SharedMemoryLinks {
    /// Public for code that borrows a link and another field at once; other code uses [`SharedMemoryLinks`] as the slab.
    pub links: Slab<SharedMemoryLink>,
    /// The keys of the links, in the order in which they came up.
    pub keys: Vec<usize>,
    /// The key of each peer's link, by number of its channel; channels beyond its end have none.
    by_peer: Vec<Option<usize>>,
    /// Secrets that peers have to send with memory to share.
    secrets: HashMap<VcId, u128>,
    /// The socket at which peers deliver memory; opened with the first offer.
    pub listener: Option<Listener>,
    /// Connections over which memory is to come.
    pub arriving: Slab<Arriving>,
    /// Memory that was offered and is not taken yet.
    pub offered: Slab<Offered>,
    /// Something was sent, and since then it was not checked behind a fence whether its receiver sleeps.
    pub unrung: bool,
    /// This side sleeps: peers have to ring.
    is_asleep: bool,
    /// At the last check, nothing was expected but frames in shared memory.
    pub is_all: bool,
}

impl SharedMemoryLinks {
    /// Whether nothing is expected but frames in shared memory. May be a few milliseconds old.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.is_all && !self.links.is_empty()
    }

    /// Whether a link is being set up.
    pub fn is_any_coming(&self) -> bool {
        !self.arriving.is_empty() || !self.offered.is_empty()
    }

    /// The key of the link to a peer.
    #[inline]
    pub fn of_peer(&self, vc: VcId) -> Option<usize> {
        self.by_peer.get(vc.0 as usize).copied().flatten()
    }

    /// Whether all frames to a peer have gone into its shared memory, with none queued.
    #[inline]
    pub fn has_sent_all(&self, vc: VcId) -> bool {
        self.of_peer(vc).is_some_and(|at| !self.links[at].sender.is_blocked())
    }

    /// A link has come up. Returns its key.
    pub fn add(&mut self, link: SharedMemoryLink) -> usize {
        let of_peer = link.common.subchannel.vc.0 as usize;
        let at = self.links.insert(link);
        self.keys.push(at);
        if self.by_peer.len() <= of_peer {
            self.by_peer.resize(of_peer + 1, None);
        }
        self.by_peer[of_peer] = Some(at);
        at
    }

    /// Removes a link.
    pub fn remove(&mut self, at: usize) -> SharedMemoryLink {
        let link = self.links.remove(at);
        let vc = link.common.subchannel.vc;
        self.keys.retain(|key| *key != at);
        self.by_peer[vc.0 as usize] = None;
        self.secrets.remove(&vc);
        link
    }

    /// The secret of a peer; `new` makes it, the first time.
    pub fn secret(&mut self, vc: VcId, new: impl FnOnce() -> Option<u128>) -> Option<u128> {
        match self.secrets.entry(vc) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => Some(*place.insert(new()?)),
        }
    }

    /// Whether `shown` is the secret of a peer.
    pub fn is_secret_of(&self, vc: VcId, shown: u128) -> bool {
        self.secrets.get(&vc) == Some(&shown)
    }

    /// Wakes sleeping peers for which something was sent. `is_last`: no later call will check again.
    ///
    /// Peers that poll need no bell. A peer that is about to wait for its sockets sets a flag in the shared memory, and a sender that
    /// sees it rings. A sender reads the flag at once, without a fence, which would cost a good part of a short message; and again
    /// behind a fence in its next progress call. So a bell may be missing where the peer falls asleep in between and the sender's user
    /// makes no further call. Then the peer polls itself, as it never waits for more than a few milliseconds.
    #[inline]
    pub fn ring_bells(&mut self, is_last: bool) {
        if !self.unrung {
            return;
        }
        if is_last {
            self.unrung = false;
            fence(Ordering::SeqCst);
        }
        for (_, link) in self.links.iter_mut().filter(|(_, link)| link.sender.unrung) {
            link.ring_if_asleep(is_last);
        }
    }

    /// The user polls again: peers need not ring.
    #[inline]
    pub fn wake(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.links.iter_mut().for_each(|(_, link)| link.wake());
        }
    }

    /// Nobody will poll: peers have to ring from now on. False if something has come already.
    pub fn sleep(&mut self) -> bool {
        if self.links.is_empty() {
            return true;
        }
        self.is_asleep = true;
        self.links.iter_mut().for_each(|(_, link)| link.sleep());
        let has_come = self.links.iter().any(|(_, link)| link.receiver.has_record());
        if has_come {
            self.wake();
        }
        !has_come
    }
}

impl Deref for SharedMemoryLinks {
    type Target = Slab<SharedMemoryLink>;

    #[inline]
    fn deref(&self) -> &Slab<SharedMemoryLink> {
        &self.links
    }
}

impl DerefMut for SharedMemoryLinks {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slab<SharedMemoryLink> {
        &mut self.links
    }
}
