//! The links of an endpoint, of all kinds, and what is asked of one whatever its kind. ([`LinkKind`] says what that is.)

use std::iter::once;

use fishplate_engine::{Instant, Payload, RailId, SubchannelId, Transmit, VcId};
use slab::Slab;

use super::Endpoint;
use super::ofi::OfiState;
use crate::link::StreamLink;
use crate::link_kind::{LinkId, LinkKind, Places};
use crate::ofi::OfiLink;
use crate::rail::Rail;
use crate::shared_memory::SharedMemoryLink;

/// What counters and `fishplate top` call shared memory, in the place of an interface.
pub const SHARED_MEMORY: &str = "shm";

/// The open links, by kind.
#[derive(Default)]
pub struct Links {
    pub streams: Slab<StreamLink>,
    pub memory: Slab<SharedMemoryLink>,
    pub ofi: Slab<OfiLink>,
}

impl Links {
    pub fn get(&self, id: LinkId) -> Option<&dyn LinkKind> {
        match id {
            LinkId::Stream(at) => self.streams.get(at).map(|link| link as &dyn LinkKind),
            LinkId::Memory(at) => self.memory.get(at).map(|link| link as &dyn LinkKind),
            LinkId::Ofi(at) => self.ofi.get(at).map(|link| link as &dyn LinkKind),
        }
    }

    pub fn get_mut(&mut self, id: LinkId) -> Option<&mut dyn LinkKind> {
        match id {
            LinkId::Stream(at) => self.streams.get_mut(at).map(|link| link as &mut dyn LinkKind),
            LinkId::Memory(at) => self.memory.get_mut(at).map(|link| link as &mut dyn LinkKind),
            LinkId::Ofi(at) => self.ofi.get_mut(at).map(|link| link as &mut dyn LinkKind),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (LinkId, &dyn LinkKind)> {
        let streams = self.streams.iter().map(|(at, link)| (LinkId::Stream(at), link as &dyn LinkKind));
        let memory = self.memory.iter().map(|(at, link)| (LinkId::Memory(at), link as &dyn LinkKind));
        let ofi = self.ofi.iter().map(|(at, link)| (LinkId::Ofi(at), link as &dyn LinkKind));
        streams.chain(memory).chain(ofi)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (LinkId, &mut dyn LinkKind)> {
        let streams = self.streams.iter_mut().map(|(at, link)| (LinkId::Stream(at), link as &mut dyn LinkKind));
        let memory = self.memory.iter_mut().map(|(at, link)| (LinkId::Memory(at), link as &mut dyn LinkKind));
        let ofi = self.ofi.iter_mut().map(|(at, link)| (LinkId::Ofi(at), link as &mut dyn LinkKind));
        streams.chain(memory).chain(ofi)
    }
}

/// Names of rails, and behind them those of what else carries.
pub fn rail_names(rails: &[Rail], ofi: &OfiState) -> Vec<String> {
    let interfaces = rails.iter().map(|rail| rail.name.as_str());
    interfaces.chain(ofi.names()).chain(once(SHARED_MEMORY)).map(str::to_string).collect()
}

impl Endpoint {
    /// The link that is a subchannel, while it is open.
    #[inline]
    pub(super) fn link_of(&self, subchannel: SubchannelId) -> Option<LinkId> {
        self.peers[subchannel.vc].links.get(usize::from(subchannel.index)).copied().flatten()
    }

    /// Takes a frame from the engine to a link. True if no flush has to follow.
    #[inline]
    pub(super) fn enqueue(&mut self, link: LinkId, transmit: &Transmit, now: Instant) -> bool {
        match link {
            LinkId::Memory(at) => self.enqueue_in_memory(at, transmit, now),
            LinkId::Stream(at) => self.enqueue_on_stream(at, transmit, now),
            LinkId::Ofi(at) => self.enqueue_ofi(at, transmit),
        }
    }

    /// Finds out what the peer has of what a link has sent, for links that are not told it.
    fn look_at(&mut self, link: LinkId, now: Instant) {
        match link {
            LinkId::Memory(at) => _ = self.look_at_shared(at, now),
            // Its bytes are the kernel's.
            LinkId::Stream(_) => {}
            LinkId::Ofi(_) => _ = self.poll_ofi(now),
        }
    }

    /// The memory `ended` is not there any more once this returns.
    pub(super) fn detach_links(&mut self, ended: &Payload) {
        let Endpoint { links, memory, bounces, .. } = self;
        let places = Places { memory, bounces };
        let is_read = links.iter_mut().filter_map(|(id, link)| (!link.detach(ended, places)).then_some(id));
        for id in is_read.collect::<Vec<_>>() {
            // Whose users have agreed that it ends: the peer has read it.
            self.look_at(id, self.clock.now());
            let Some(link) = self.links.get(id).filter(|link| link.has_lent(ended)) else { continue };
            // The memory of sends stays until they complete, registered or not.
            if self.engine.has_ended_sources(link.common().subchannel.vc) {
                // What the peer has not taken goes another way.
                self.link_failed(id, "memory that the peer was to read has ended");
            }
        }
    }

    /// How many links a rail has to a peer.
    pub(super) fn links_over(&self, vc: VcId, rail: RailId) -> usize {
        let links = self.peers[vc].links.iter().flatten();
        links.filter(|id| self.links.get(**id).is_some_and(|link| link.common().rail == rail)).count()
    }

    /// The number under which shared memory is counted, behind those of the rails.
    pub(super) fn shared_memory_rail(&self) -> RailId {
        RailId((self.host.rails.len() + self.ofi.len()) as u8)
    }
}
