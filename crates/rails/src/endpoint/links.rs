//! The links of an endpoint, of all kinds: the one place that knows which kinds there are. (What a link of any kind is,
//! [`Link`] says.)
//!
//! Kinds differ in what a look at their links costs: at memory a cache line, at devices a call of a library, at sockets a system
//! call. And links of some kinds are set up over connections of another ([`Messenger`]).

use std::iter::once;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Payload, RailId, SubchannelId, Transmit, VcId};

use super::Endpoint;
use super::messenger::Messenger;
use super::ofi::OfiLinks;
use super::shared_memory::socket::MemorySocket;
use super::shared_memory::{SHARED_MEMORY, SharedMemoryLinks};
use super::tcp::TcpLinks;
use super::tcp::socket::TcpSocket;
use crate::link_kind::{Counts, Link, LinkId, Places};
use crate::live;
use crate::ofi::Description;
use crate::rail::Rail;
use crate::shared_memory::Sender;
use crate::sys::poll::Ready;

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

    /// Whether a queue is to be flushed.
    #[inline]
    pub fn has_unflushed(&self) -> bool {
        self.tcp.has_dirty()
    }

    /// Whether sends wait for a peer, or for the kernel, to take what was sent before.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        self.tcp.has_blocked_sends()
            || self.memory.iter().any(|(_, link)| link.sender.is_blocked())
            || self.ofi.iter().any(|(_, link)| link.has_waiting())
    }

    /// Whether something may come of which no socket tells.
    #[inline]
    pub fn may_come_without_socket(&self) -> bool {
        !self.memory.is_empty() || !self.ofi.is_empty()
    }

    /// Whether there are links of devices, at which every call looks.
    #[inline]
    pub fn has_devices(&self) -> bool {
        !self.ofi.is_empty()
    }

    /// Whether sockets have nothing that anybody waits for, as all that is expected comes through memory.
    #[inline]
    pub fn expects_no_socket(&self) -> bool {
        self.memory.is_all()
    }

    /// Wakes peers for which something was sent; `is_last`: nothing has to be looked at again.
    #[inline]
    pub fn ring_bells(&mut self, is_last: bool) {
        self.memory.ring_bells(is_last);
    }

    /// Somebody polls again.
    #[inline]
    pub fn wake(&mut self) {
        self.memory.wake();
    }

    /// Nobody will poll: from now on peers wake whoever waits for sockets. False if something has come already, or may come
    /// without that.
    pub fn sleep(&mut self) -> bool {
        self.memory.sleep() && self.ofi.is_empty()
    }

    /// Says goodbye over a link.
    pub fn say_goodbye(&mut self, id: LinkId, bye: &Header, places: Places<'_>) {
        let Some(link) = self.get_mut(id) else { return };
        link.say_goodbye(bye, places);
        link.common_mut().goodbye_sent = true;
        if let LinkId::Tcp(at) = id {
            self.tcp.mark_dirty(at);
        }
    }

    /// A goodbye has come over a link.
    pub fn goodbye_came(&mut self, id: LinkId) {
        if let LinkId::Tcp(at) = id {
            self.tcp.goodbye_came(at);
        }
    }

    /// Hands devices what waits for them. True once they have everything.
    pub fn flush_devices(&mut self, places: Places<'_>) -> bool {
        self.ofi.flush(places)
    }

    /// Rails that carry nothing to a peer, as links go past them over the same wire.
    pub fn bypassed_rails(&self, vc: VcId) -> Vec<RailId> {
        self.ofi.own_rails_of_links_to(vc)
    }

    /// Names of rails, and behind them those of what else carries.
    pub fn rail_names<'a>(&'a self, rails: &'a [Rail]) -> impl Iterator<Item = &'a str> {
        let interfaces = rails.iter().map(|rail| rail.name.as_str());
        interfaces.chain(self.names_beside_rails())
    }

    /// Names of what carries beside the rails over interfaces.
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

    /// Takes a frame from the engine to a link. True if no flush has to follow.
    #[inline]
    pub(super) fn enqueue(&mut self, link: LinkId, transmit: &Transmit, now: Instant) -> bool {
        match link {
            LinkId::Memory(at) => self.enqueue_in_memory(at, transmit, now),
            LinkId::Tcp(at) => self.enqueue_on_stream(at, transmit, now),
            LinkId::Ofi(at) => self.enqueue_ofi(at, transmit),
        }
    }

    /// Finds out what the peer has of what a link has sent, for links that are not told it.
    fn look_at(&mut self, link: LinkId, now: Instant) {
        match link {
            LinkId::Memory(at) => _ = self.look_at_shared(at, now),
            // Its bytes are the kernel's.
            LinkId::Tcp(_) => {}
            LinkId::Ofi(_) => _ = self.poll_ofi(now),
        }
    }

    /// The same of all links over which a peer has not taken everything.
    pub(super) fn look_at_untaken(&mut self, now: Instant) {
        self.poll_taken_of_shared(now, Sender::has_untaken);
    }

    /// Moves on what waits for memory or devices. Nothing is read of memory.
    pub(super) fn advance_without_sockets(&mut self, now: Instant) {
        self.poll_taken_of_shared(now, Sender::is_blocked);
        self.poll_ofi(now);
    }

    /// Takes what has come in memory, and looks at what peers have taken: at all of it if the endpoint `is_closing`. True if
    /// there was anything.
    #[inline]
    pub(super) fn poll_memory(&mut self, now: Instant, is_closing: bool) -> bool {
        self.poll_shared_memory(now, is_closing)
    }

    /// Moves data of devices. True if there was anything.
    #[inline]
    pub(super) fn poll_devices(&mut self, now: Instant) -> bool {
        self.poll_ofi(now)
    }

    /// Something has come of which no socket tells: none is likelier to have data than others.
    pub(super) fn came_without_socket(&mut self) {
        self.progress.poll_interval.active_link_had_data();
        self.release_active_link();
    }

    /// The poll set has reported a socket. True if that was of use.
    pub(super) fn socket_ready(&mut self, event: Ready, now: Instant) -> bool {
        if let Some(socket) = TcpSocket::of(event.token) {
            self.tcp_ready(socket, event, now)
        } else if let Some(socket) = MemorySocket::of(event.token) {
            self.memory_socket_ready(socket, event, now)
        } else {
            false
        }
    }

    /// Looks after links that are being set up, and notes which are in use.
    pub(super) fn service_set_up(&mut self, now: Instant) {
        if self.service_unproven(now) {
            self.accept_shared_memory(now);
        }
        self.service_shared_memory(now);
        self.service_ofi(now);
    }

    /// Connection `at` is up: the peer is offered links of other kinds.
    pub(super) fn offer_others(&mut self, at: usize) {
        if let Some(messenger) = self.messenger(at) {
            self.offer_shared_memory(messenger);
            self.offer_ofi(messenger);
        }
    }

    /// The peer of connection `at` offers a link of another kind, or a part of such an offer has come.
    pub(super) fn offer_came(&mut self, at: usize, offer: &Body, now: Instant) -> Result<(), &'static str> {
        let Some(messenger) = self.messenger(at) else { return Ok(()) };
        match offer {
            Body::Description { total, offset, part } => {
                let whole = Description::part_came(&mut self.links.tcp[at].described, *total, *offset, part)?;
                whole.into_iter().for_each(|theirs| self.ofi_described(messenger, &theirs));
            }
            Body::SharedMemory { listener, secret } => self.shared_memory_offered(messenger, *listener, *secret, now),
            _ => {}
        }
        Ok(())
    }

    /// A connection as one over which peers are told of links.
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

    /// Tells a peer of a link to be.
    pub(super) fn tell(&mut self, messenger: Messenger, header: &Header) {
        self.links.tcp.push_header(messenger.at, header);
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

    /// Takes what has come over a link that is about to fail. That may end it in good order.
    pub(super) fn take_last_frames(&mut self, id: LinkId, now: Instant) {
        if let LinkId::Tcp(at) = id {
            self.read_to_the_end(at, now);
        }
    }

    /// Takes a link out and closes it: what it has counted.
    pub(super) fn take_out(&mut self, id: LinkId) -> Counts {
        match id {
            LinkId::Tcp(at) => self.remove_tcp(at).final_counts(),
            LinkId::Memory(at) => self.links.memory.remove(at).common.counts,
            LinkId::Ofi(at) => self.remove_ofi(at),
        }
    }

    /// Links to a peer that are being set up come to nothing.
    pub(super) fn end_set_up(&mut self, vc: VcId) {
        self.remove_ofi_ends(vc);
        self.attempts.end(vc);
    }

    /// How many links a rail has to a peer.
    pub(super) fn links_over(&self, vc: VcId, rail: RailId) -> usize {
        let links = self.peers[vc].links.iter().flatten();
        links.filter(|id| self.links.get(**id).is_some_and(|link| link.common().rail == rail)).count()
    }

    /// The number under which shared memory is counted, behind those of the rails.
    pub(super) fn shared_memory_rail(&self) -> RailId {
        RailId((self.host.rails.len() + self.links.ofi.rail_count()) as u8)
    }

    /// How messages call a rail, or what else carries, by its number.
    pub(super) fn rail_name(&self, rail: RailId) -> &str {
        self.links.rail_names(&self.host.rails).nth(usize::from(rail.0)).unwrap_or_default()
    }

    /// What carries beside the rails over interfaces, for `fishplate top`; `sums`: what each rail has carried.
    pub(super) fn pages_beside_rails(&self, sums: &[Counts]) -> Vec<live::Rail> {
        let memory = usize::from(self.shared_memory_rail().0);
        let ofi = (self.host.rails.len()..memory).map(|at| self.ofi_page(at, &sums[at]));
        ofi.chain(self.shared_memory_page(&sums[memory])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_socket_has_a_number_of_its_own() {
        let tcp = [
            TcpSocket::Listener(7),
            TcpSocket::Link(7),
            TcpSocket::Attempt(7),
            TcpSocket::Incoming(7),
            TcpSocket::Datagrams(7),
        ];
        let memory =
            [MemorySocket::Listener, MemorySocket::Arriving(7), MemorySocket::Offered(7), MemorySocket::Link(7)];
        for socket in tcp {
            assert_eq!((TcpSocket::of(socket.number()), MemorySocket::of(socket.number())), (Some(socket), None));
        }
        for socket in memory {
            assert_eq!((TcpSocket::of(socket.number()), MemorySocket::of(socket.number())), (None, Some(socket)));
        }
    }
}
