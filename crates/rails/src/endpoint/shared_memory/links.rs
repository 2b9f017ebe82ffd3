//! The links in shared memory of an endpoint, how they come about, and which peer has which.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, fence};

use fishplate_engine::VcId;
use slab::Slab;

use crate::shared_memory::SharedMemoryLink;
use crate::shared_memory::setup::{Arriving, Listener, Offered};

/// The links, each under a key.
#[derive(Default)]
pub struct SharedMemoryLinks {
    /// For those who need one of them and what is beside them: others use [`SharedMemoryLinks`] as the slab.
    pub links: Slab<SharedMemoryLink>,
    /// The keys of the links, in the order in which they came up.
    pub keys: Vec<usize>,
    /// The key of each peer's link, by number of its channel; for the peers of the lowest numbers.
    by_peer: Vec<Option<usize>>,
    /// What peers have to show when they bring memory to share.
    secrets: HashMap<VcId, u128>,
    /// Where peers bring memory; opened for the first that is asked to.
    pub listener: Option<Listener>,
    /// Connections over which memory is to come.
    pub arriving: Slab<Arriving>,
    /// Memory that was offered and is not taken yet.
    pub offered: Slab<Offered>,
    /// Something was sent, and it was not asked since then, behind a fence, whether its receiver sleeps.
    pub unrung: bool,
    /// Peers are asked to ring.
    is_asleep: bool,
    /// Nothing else was expected when that was looked at last.
    pub is_all: bool,
}

impl SharedMemoryLinks {
    /// Whether nothing but what is in shared memory is expected, as far as is known of the last few milliseconds.
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

    /// Whether what was sent to a peer last is in shared memory, all of it.
    #[inline]
    pub fn has_sent_all(&self, vc: VcId) -> bool {
        self.of_peer(vc).is_some_and(|at| !self.links[at].sender.is_blocked())
    }

    /// A link has come up: its key.
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

    /// Takes a link out.
    pub fn remove(&mut self, at: usize) -> SharedMemoryLink {
        let link = self.links.remove(at);
        let vc = link.common.subchannel.vc;
        self.keys.retain(|key| *key != at);
        self.by_peer[vc.0 as usize] = None;
        self.secrets.remove(&vc);
        link
    }

    /// What a peer has to show; `new` makes it, the first time.
    pub fn secret(&mut self, vc: VcId, new: impl FnOnce() -> Option<u128>) -> Option<u128> {
        match self.secrets.entry(vc) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => Some(*place.insert(new()?)),
        }
    }

    /// Whether that is `shown`.
    pub fn is_secret_of(&self, vc: VcId, shown: u128) -> bool {
        self.secrets.get(&vc) == Some(&shown)
    }

    /// Wakes peers for which something was sent; `is_last`: nothing has to be looked at again.
    ///
    /// Peers that poll need no bell. One that is about to wait for its sockets says so in the shared memory, and whoever then
    /// sends something to it rings. A sender looks whether its peer sleeps at once, without a fence, which would cost a good
    /// part of a short message; and again behind one in its next progress call. So a bell is late where the peer falls asleep
    /// in between, and the sender's user makes no such call: until the peer, which never waits for more than a few
    /// milliseconds, looks by itself.
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

    /// Somebody polls again.
    #[inline]
    pub fn wake(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.links.iter_mut().for_each(|(_, link)| link.wake());
        }
    }

    /// Nobody will poll: from now on peers ring. False if something has come already.
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
