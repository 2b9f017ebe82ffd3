//! Links in shared memory to the peers of this host. While a peer has one, everything goes over it ([`Engine::prefer`]);
//! its links over the rails stand by.
//!
//! [`SharedMemoryLinks`] has them. `connect` sets them up, `transfer` moves frames, `direct` makes one-sided operations without
//! frames. `fishplate_rails_shm` has the parts that need no endpoint.
//!
//! Called by the progress loop, by the send path, and by the connections over the rails, which begin each set-up.
//!
//! [`Engine::prefer`]: fishplate_engine::Engine::prefer

mod connect;
mod direct;
mod links;
mod transfer;

use fishplate_engine::VcId;
use fishplate_link_core::Counts;

use super::Endpoint;
use super::status_page::rail_without_address;
use crate::live::{self, State};

pub use links::SharedMemoryLinks;

/// Name of shared memory in counters and `fishplate top`, in the place of an interface.
pub const SHARED_MEMORY: &str = "shm";

impl Endpoint {
    /// Whether messages to a peer go through shared memory.
    #[inline]
    pub fn shares_memory(&self, vc: VcId) -> bool {
        self.links.memory.of_peer(vc).is_some()
    }

    /// Whether all connected peers share memory: transfers are so short then that they need not begin at once.
    pub fn has_only_memory_peers(&self) -> bool {
        let mut connected = self.peers.channels().filter(|vc| self.peers[*vc].is_connected());
        !self.links.memory.is_empty() && connected.all(|vc| self.shares_memory(vc))
    }

    /// Whether all peers share memory, and none is connecting: then sockets are not awaited.
    fn expects_only_memory(&self) -> bool {
        let sets_up = self.links.memory.is_any_coming() || !self.attempts.is_empty();
        self.has_only_memory_peers() && self.links.ofi.is_empty() && !sets_up
    }

    /// Shared memory as a rail, once it was used.
    pub(super) fn shared_memory_page(&self, sum: &Counts) -> Option<live::Rail> {
        let links = self.links.memory.len() as u32;
        let state = if links > 0 { State::Up } else { State::Ended };
        let has_ended = || self.diagnostics.counters.has_ended(usize::from(self.shared_memory_rail().0));
        (links > 0 || has_ended()).then(|| rail_without_address(SHARED_MEMORY, state, links, sum))
    }
}
