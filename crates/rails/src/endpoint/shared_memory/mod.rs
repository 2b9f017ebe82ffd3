//! Links in shared memory to the peers of this host. While a peer has one, everything goes over it ([`Engine::prefer`]);
//! its links over the rails stand by.
//!
//! `connect` sets them up, `transfer` moves frames, `sleep` has peers ring while nobody polls, `end` ends them. What such
//! a link is without an endpoint is in [`crate::shared_memory`].
//!
//! Called by the progress loop, by the send path, and by the connections over the rails, of which each set-up begins.
//!
//! [`Engine::prefer`]: fishplate_engine::Engine::prefer

mod connect;
mod end;
mod sleep;
mod transfer;

use fishplate_engine::{RailId, SubchannelId, VcId};
use slab::Slab;

use super::Endpoint;
use crate::shared_memory::SharedMemoryLink;
use crate::shared_memory::setup::{Arriving, Listener, Offered};

/// What counters and `fishplate top` call it, in the place of an interface.
pub const RAIL_NAME: &str = "shm";

/// Those of an endpoint.
#[derive(Default)]
pub struct SharedMemoryLinks {
    /// Where peers bring memory; opened for the first that is asked to.
    listener: Option<Listener>,
    /// Connections over which memory is to come.
    arriving: Slab<Arriving>,
    /// Memory that was offered and is not taken yet.
    offered: Slab<Offered>,
    links: Slab<SharedMemoryLink>,
    /// The keys of `links`.
    keys: Vec<usize>,
    /// Something was sent, and it was not asked since then, behind a fence, whether its receiver sleeps.
    unrung: bool,
    /// Peers are asked to ring.
    is_asleep: bool,
}

impl SharedMemoryLinks {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The links.
    pub fn iter(&self) -> impl Iterator<Item = &SharedMemoryLink> {
        self.links.iter().map(|(_, link)| link)
    }
}

impl Endpoint {
    /// The link that is a subchannel, if that is in shared memory.
    #[inline]
    pub(in crate::endpoint) fn shared_link_of(&self, subchannel: SubchannelId) -> Option<usize> {
        let at = self.peers[subchannel.vc.0 as usize].shared_memory?;
        (self.shared_memory.links[at].subchannel == subchannel).then_some(at)
    }

    /// Whether what was sent to a peer last is in shared memory, all of it.
    #[inline]
    pub(in crate::endpoint) fn is_in_shared_memory(&self, vc: VcId) -> bool {
        let link = self.peers[vc.0 as usize].shared_memory.map(|at| &self.shared_memory.links[at]);
        link.is_some_and(|link| !link.sender.is_blocked())
    }

    /// The number under which shared memory is counted, behind those of the rails.
    pub(in crate::endpoint) fn shared_memory_rail(&self) -> RailId {
        RailId(self.rails.len() as u8)
    }
}
