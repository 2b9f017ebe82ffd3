//! Links in shared memory to the peers of this host. While a peer has one, everything goes over it ([`Engine::prefer`]);
//! its links over the rails stand by.
//!
//! `connect` sets them up, `transfer` moves frames, `direct` makes one-sided operations without frames, `sleep` has peers ring while nobody polls. What such a link
//! is without an endpoint is in [`crate::shared_memory`].
//!
//! Called by the progress loop, by the send path, and by the connections over the rails, of which each set-up begins.
//!
//! [`Engine::prefer`]: fishplate_engine::Engine::prefer

mod connect;
mod direct;
mod sleep;
mod transfer;

use fishplate_engine::VcId;
use slab::Slab;

use super::Endpoint;
use crate::shared_memory::SharedMemoryLink;
use crate::shared_memory::setup::{Arriving, Listener, Offered};

/// What an endpoint has of it, beside the links.
#[derive(Default)]
pub struct SharedMemoryState {
    /// Where peers bring memory; opened for the first that is asked to.
    listener: Option<Listener>,
    /// Connections over which memory is to come.
    arriving: Slab<Arriving>,
    /// Memory that was offered and is not taken yet.
    offered: Slab<Offered>,
    /// The keys of the links.
    keys: Vec<usize>,
    /// Something was sent, and it was not asked since then, behind a fence, whether its receiver sleeps.
    unrung: bool,
    /// Peers are asked to ring.
    is_asleep: bool,
    /// See [`SharedMemoryState::is_all`].
    is_all: bool,
}

impl SharedMemoryState {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether nothing but what is in shared memory is expected, as far as is known of the last few milliseconds.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.is_all && !self.is_empty()
    }
}

impl Endpoint {
    /// Whether all peers share memory, and nobody is about to connect: then sockets have nothing that anybody waits for.
    pub(in crate::endpoint) fn expects_only_memory(&self) -> bool {
        let sets_up = !self.shared_memory.arriving.is_empty() || !self.shared_memory.offered.is_empty();
        self.has_only_memory_peers() && self.attempts.is_empty() && self.links.ofi.is_empty() && !sets_up
    }

    /// Whether what was sent to a peer last is in shared memory, all of it.
    #[inline]
    pub(in crate::endpoint) fn is_in_shared_memory(&self, vc: VcId) -> bool {
        let link = self.peers[vc].shared_memory.map(|at| &self.links.memory[at]);
        link.is_some_and(|link| !link.sender.is_blocked())
    }

    /// Takes a link out.
    pub(in crate::endpoint) fn remove_shared(&mut self, at: usize) -> SharedMemoryLink {
        let link = self.links.memory.remove(at);
        self.shared_memory.keys.retain(|key| *key != at);
        let peer = &mut self.peers[link.common.subchannel.vc];
        (peer.shared_memory, peer.shared_memory_secret) = (None, None);
        link
    }
}
