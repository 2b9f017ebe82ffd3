//! The links of an endpoint, of all kinds, by one name. ([`Link`] is the interface of a link of any kind.)
//!
//! Kinds differ in the cost of a poll: a cache line for shared memory, a library call for devices, a system call for sockets. And
//! links of some kinds are set up over connections of another ([`Messenger`]).

use std::iter::once;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Payload, RailId, SubchannelId, Transmit, VcId};
use fishplate_link_core::{Counts, Link, Places};
use fishplate_rails_ofi::Description;
use fishplate_rails_shm::Sender;

use super::Endpoint;
use super::messenger::Messenger;
use super::ofi::OfiLinks;
use super::shared_memory::{SHARED_MEMORY, SharedMemoryLinks};
use super::tcp::TcpLinks;
use crate::endpoint::link_id::LinkId;
use crate::live;
use crate::poller::{Kind, Ready};
use crate::rail::Rail;

/// The open links, by kind.
pub struct Links {
    pub tcp: TcpLinks,
    pub memory: SharedMemoryLinks,
    pub ofi: OfiLinks,
}

impl Links {
    pub fn get(&self, id: LinkId) -> Option<&dyn Link> {
        match id {
            LinkId::Tcp(at) => self.tcp.get(at).map(|link| link as &dyn Link),
            LinkId::Memory(at) => self.memory.get(at).map(|link| link as &dyn Link),
            LinkId::Ofi(at) => self.ofi.get(at).map(|link| link as &dyn Link),
        }
    }

    pub fn get_mut(&mut self, id: LinkId) -> Option<&mut dyn Link> {
        match id {
            LinkId::Tcp(at) => self.tcp.get_mut(at).map(|link| link as &mut dyn Link),
            LinkId::Memory(at) => self.memory.get_mut(at).map(|link| link as &mut dyn Link),
            LinkId::Ofi(at) => self.ofi.get_mut(at).map(|link| link as &mut dyn Link),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (LinkId, &dyn Link)> {
        let tcp = self.tcp.iter().map(|(at, link)| (LinkId::Tcp(at), link as &dyn Link));
        let memory = self.memory.iter().map(|(at, link)| (LinkId::Memory(at), link as &dyn Link));
        let ofi = self.ofi.iter().map(|(at, link)| (LinkId::Ofi(at), link as &dyn Link));
        tcp.chain(memory).chain(ofi)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (LinkId, &mut dyn Link)> {
        let tcp = self.tcp.iter_mut().map(|(at, link)| (LinkId::Tcp(at), link as &mut dyn Link));
        let memory = self.memory.iter_mut().map(|(at, link)| (LinkId::Memory(at), link as &mut dyn Link));
        let ofi = self.ofi.iter_mut().map(|(at, link)| (LinkId::Ofi(at), link as &mut dyn Link));
        tcp.chain(memory).chain(ofi)
    }

    /// Whether sends wait until a peer, or the kernel, has taken earlier ones.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        self.tcp.has_blocked_sends()
            || self.memory.iter().any(|(_, link)| link.sender.is_blocked())
            || self.ofi.iter().any(|(_, link)| link.has_waiting())
    }

    /// Whether frames may come without a socket becoming readable.
    #[inline]
    pub fn may_come_without_socket(&self) -> bool {
        !self.memory.is_empty() || !self.ofi.is_empty()
    }

    /// Nobody will poll: peers have to ring from now on. False if something has come already, or may come without a bell.
    pub fn sleep(&mut self) -> bool {
        self.memory.sleep() && self.ofi.is_empty()
    }

    /// Says goodbye over a link.
    pub fn send_goodbye(&mut self, id: LinkId, bye: &Header, places: Places<'_>) {
        let Some(link) = self.get_mut(id) else { return };
        link.send_goodbye(bye, places);
        link.common_mut().goodbye_sent = true;
        if let LinkId::Tcp(at) = id {
            self.tcp.mark_dirty(at);
        }
    }

    /// Names of the rails, then of providers' rails and shared memory.
    pub fn rail_names<'a>(&'a self, rails: &'a [Rail]) -> impl Iterator<Item = &'a str> {
        let interfaces = rails.iter().map(|rail| rail.name.as_str());
        interfaces.chain(self.names_beside_rails())
    }

    /// Names of providers' rails, and of shared memory.
    pub fn names_beside_rails(&self) -> impl Iterator<Item = &str> {
        self.ofi.names().chain(once(SHARED_MEMORY))
    }
}

impl Endpoint {
    /// The link that is a subchannel, while it is open.
    #[inline]
    pub(super) fn link_of(&self, subchannel: SubchannelId) -> Option<LinkId> {
        self.peers[subchannel.vc].links.get(usize::from(subchannel.index)).copied().flatten()
    }

    /// Puts a frame from the engine into a link. True if no flush has to follow.
    #[inline]
    pub(super) fn enqueue(&mut self, link: LinkId, transmit: &Transmit, now: Instant) -> bool {
        match link {
            LinkId::Memory(at) => self.enqueue_in_memory(at, transmit, now),
            LinkId::Tcp(at) => self.enqueue_on_stream(at, transmit, now),
            LinkId::Ofi(at) => self.enqueue_ofi(at, transmit),
        }
    }

    /// Sends frames that wait for shared memory or devices. Nothing is read of memory.
    pub(super) fn advance_without_sockets(&mut self, now: Instant) {
        self.poll_taken_of_shared(now, Sender::is_blocked);
        self.poll_ofi(now);
    }

    /// Frames have come without a socket: no socket is likelier than others to have data.
    pub(super) fn received_without_socket(&mut self) {
        self.progress.poll_interval.active_link_had_data();
        self.release_active_link();
    }

    /// The poll set has reported a socket. True if there were frames, or a connection.
    pub(super) fn socket_ready(&mut self, event: Ready, now: Instant) -> bool {
        let at = event.socket.at;
        match event.socket.kind {
            Kind::Listener => self.accept_all(at, now),
            Kind::Link => self.stream_ready(at, event, now),
            Kind::Attempt => self.attempt_ready(at, now),
            Kind::Incoming => self.incoming_ready(at, now),
            Kind::Datagrams => self.read_datagrams(at, now),
            Kind::MemoryListener => self.accept_shared_memory(now),
            Kind::MemoryArriving => self.shared_memory_arrived(at),
            Kind::MemoryOffered => self.shared_memory_answered(at),
            Kind::Bell => self.shared_memory_rang(at, event.ended),
        }
    }

    /// Services links that are being set up, and records which links are in use.
    pub(super) fn service_set_up(&mut self, now: Instant) {
        if self.service_unproven(now) {
            self.accept_shared_memory(now);
        }
        self.service_shared_memory(now);
        self.service_ofi(now);
    }

    /// Offers the peer of the new connection `at` links of other kinds.
    pub(super) fn offer_others(&mut self, at: usize) {
        if let Some(messenger) = self.messenger(at) {
            self.offer_shared_memory(messenger);
            self.offer_ofi(messenger);
        }
    }

    /// The peer of connection `at` has sent an offer of a link of another kind, or a part of one.
    pub(super) fn offer_received(&mut self, at: usize, offer: &Body, now: Instant) -> Result<(), &'static str> {
        let Some(messenger) = self.messenger(at) else { return Ok(()) };
        match offer {
            Body::Description { total, offset, part } => {
                let whole = Description::part_received(&mut self.links.tcp[at].described, *total, *offset, part)?;
                whole.into_iter().for_each(|theirs| self.ofi_described(messenger, &theirs));
            }
            Body::SharedMemory { listener, secret } => self.shared_memory_offered(messenger, *listener, *secret, now),
            _ => {}
        }
        Ok(())
    }

    /// Connection `at` as a messenger.
    fn messenger(&self, at: usize) -> Option<Messenger> {
        self.links.tcp.get(at).map(|link| Messenger {
            at,
            vc: link.common.subchannel.vc,
            remote: link.remote.ip(),
            by_peer: link.name.by_peer,
            is_additional: link.name.is_additional(),
        })
    }

    /// The first connection to a peer.
    pub(super) fn messenger_to(&self, vc: VcId) -> Option<Messenger> {
        let (at, _) = self.links.tcp.of_peer(&self.peers[vc]).next()?;
        self.messenger(at)
    }

    /// Sends a peer a message about the set-up of a link.
    pub(super) fn tell(&mut self, messenger: Messenger, header: &Header) {
        self.links.tcp.push_header(messenger.at, header);
    }

    /// Ends the use of the memory `ended` by all links: it becomes invalid once this returns.
    pub(super) fn detach_links(&mut self, ended: &Payload) {
        let Endpoint { links, memory, bounces, .. } = self;
        let places = Places { memory, bounces };
        let is_read = links.iter_mut().filter_map(|(id, link)| (!link.detach(ended, places)).then_some(id));
        for id in is_read.collect::<Vec<_>>() {
            // If the users have agreed that it ends, the peer has read it.
            let now = self.clock.now();
            match id {
                LinkId::Memory(at) => _ = self.poll_taken_of_link(at, now),
                // The kernel has its bytes.
                LinkId::Tcp(_) => {}
                LinkId::Ofi(_) => _ = self.poll_ofi(now),
            }
            let Some(link) = self.links.get(id).filter(|link| link.has_lent(ended)) else { continue };
            // Memory of sends stays valid until they complete, even if its registration ends.
            if self.engine.has_ended_sources(link.common().subchannel.vc) {
                // Frames that the peer has not taken go over other links.
                self.link_failed(id, "memory that the peer was to read has ended");
            }
        }
    }

    /// Removes and closes a link. Returns its counts.
    pub(super) fn take_out(&mut self, id: LinkId) -> Counts {
        match id {
            LinkId::Tcp(at) => {
                let link = self.links.tcp.remove(at);
                self.pace_keepalive();
                link.final_counts()
            }
            LinkId::Memory(at) => self.links.memory.remove(at).common.counts,
            LinkId::Ofi(at) => self.remove_ofi(at),
        }
    }

    /// Abandons the set-up of links to a peer.
    pub(super) fn end_set_up(&mut self, vc: VcId) {
        self.remove_ofi_ends(vc);
        self.attempts.end(vc);
    }

    /// Number of links of a rail to a peer.
    pub(super) fn links_over(&self, vc: VcId, rail: RailId) -> usize {
        let links = self.peers[vc].links.iter().flatten();
        links.filter(|id| self.links.get(**id).is_some_and(|link| link.common().rail == rail)).count()
    }

    /// The rail number of shared memory in the counters, behind all rails.
    pub(super) fn shared_memory_rail(&self) -> RailId {
        RailId((self.host.rails.len() + self.links.ofi.rail_count()) as u8)
    }

    /// The name of a rail, a provider's rail or shared memory, by its number, for messages.
    pub(super) fn rail_name(&self, rail: RailId) -> &str {
        self.links.rail_names(&self.host.rails).nth(usize::from(rail.0)).unwrap_or_default()
    }

    /// Providers' rails and shared memory, for `fishplate top`; `sums`: counts of each rail.
    pub(super) fn pages_beside_rails(&self, sums: &[Counts]) -> Vec<live::Rail> {
        let memory = usize::from(self.shared_memory_rail().0);
        let ofi = (self.host.rails.len()..memory).map(|at| self.ofi_page(at, &sums[at]));
        ofi.chain(self.shared_memory_page(&sums[memory])).collect()
    }
}
