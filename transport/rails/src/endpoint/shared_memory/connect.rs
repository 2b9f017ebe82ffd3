//! Set-up. The accepting side of a connection offers to share memory if the peer's address is of this host; the attempt shows
//! whether the peer really is on it.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, VcId};
use fishplate_link_core::random;
use fishplate_rails_shm::SharedMemoryLink;
use fishplate_rails_shm::setup::{Arriving, Listener, MAX_SETUP_NS, Offered, Shared};

use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::messenger::Messenger;
use crate::endpoint::peer::Role;
use crate::endpoint::send::BUDGET;
use crate::logger::STRANGERS;
use crate::poller::Kind;
use crate::sys::tcp_info::TcpInfo;

/// Connections over which memory has not come yet, at most. Only processes of the same user get so far.
const MAX_ARRIVING: usize = 1024;

impl Endpoint {
    /// A connection has come up: offers its peer to share memory, if both are on this host.
    pub(in crate::endpoint) fn offer_shared_memory(&mut self, over: Messenger) {
        if !over.by_peer || over.is_additional || !self.may_share_memory(over) {
            return;
        }
        let Some(listener) = self.shared_memory_listener() else { return };
        let new = || random().ok().map(u128::from_le_bytes);
        let Some(secret) = self.links.memory.secret(over.vc, new) else { return };
        self.tell(over, &Header::without_acknowledgement(Body::SharedMemory { listener, secret }));
    }

    /// The peer of a connection offers to share memory.
    pub(in crate::endpoint) fn shared_memory_offered(
        &mut self,
        over: Messenger,
        listener: u64,
        secret: u128,
        now: Instant,
    ) {
        let is_passed = self.links.memory.offered.iter().any(|(_, offered)| offered.vc == over.vc);
        if is_passed || !self.may_share_memory(over) {
            return;
        }
        let passed = Offered::pass(over.vc, listener, secret, now).and_then(|offered| {
            let entry = self.links.memory.offered.vacant_entry();
            self.poller.add(offered.socket(), Kind::MemoryOffered.at(entry.key()))?;
            entry.insert(offered);
            Ok(())
        });
        if let Err(error) = passed {
            log::info!("no memory is shared with {}: {error}", self.peers[over.vc].describe());
        }
    }

    /// Whether the peer of a connection is on this host, and may share memory.
    fn may_share_memory(&self, over: Messenger) -> bool {
        self.settings.shared_memory && !self.shares_memory(over.vc) && self.host.has(over.remote)
    }

    /// The name of the socket at which memory is taken.
    fn shared_memory_listener(&mut self) -> Option<u64> {
        if self.links.memory.listener.is_none() {
            let opened = Listener::open().and_then(|listener| {
                self.poller.add(listener.socket(), Kind::MemoryListener.at(0))?;
                Ok(listener)
            });
            match opened {
                Ok(listener) => self.links.memory.listener = Some(listener),
                Err(error) => log::info!("no memory is shared: {error}"),
            }
        }
        self.links.memory.listener.as_ref().map(|listener| listener.name)
    }

    /// Accepts connections over which memory is to come.
    pub(in crate::endpoint) fn accept_shared_memory(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(listener) = &self.links.memory.listener {
            // Limited, as any user of the host can connect.
            if !self.listening.unproven.may_accept() {
                self.listening.is_paused = true;
                return any;
            }
            let accepted = match listener.accept(now) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return any,
                accepted => accepted,
            };
            self.listening.unproven.accepted();
            match accepted {
                Ok(Some(arriving)) if self.links.memory.arriving.len() < MAX_ARRIVING => {
                    any = true;
                    let at = self.links.memory.arriving.insert(arriving);
                    let socket = self.links.memory.arriving[at].socket();
                    if self.poller.add(socket, Kind::MemoryArriving.at(at)).is_err() {
                        self.links.memory.arriving.remove(at);
                    }
                }
                Ok(Some(_)) => log::warn!(
                    target: STRANGERS,
                    "memory that a process would share is refused: too many others are not proven yet"
                ),
                Ok(None) => {
                    log::warn!(target: STRANGERS, "memory that a process of another user would share is refused");
                }
                Err(_) => {
                    // Mostly a lack of files. The poll set reports waiting connections only once.
                    self.listening.is_paused = true;
                    return any;
                }
            }
        }
        any
    }

    /// A connection over which memory is to come has become readable.
    pub(in crate::endpoint) fn shared_memory_arrived(&mut self, at: usize) -> bool {
        let Some(arriving) = self.links.memory.arriving.get(at) else { return false };
        let came = arriving.receive();
        if came.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            return false;
        }
        let arriving = self.links.memory.arriving.remove(at);
        let opened = came.and_then(|(secret, file)| {
            let is_expected = |vc: &VcId| {
                let is_there = matches!(self.peers[*vc].role, Role::Initiator | Role::Acceptor);
                is_there && !self.shares_memory(*vc) && self.links.memory.is_secret_of(*vc, secret)
            };
            let vc = self.peers.channels().find(is_expected).ok_or(ErrorKind::PermissionDenied)?;
            Ok((vc, Arriving::open(arriving, &file)?))
        });
        match opened {
            Ok((vc, shared)) => self.shared_link_up(vc, shared),
            Err(error) => log::info!("memory that a process would share is refused: {error}"),
        }
        true
    }

    /// A peer has answered an offer of memory.
    pub(in crate::endpoint) fn shared_memory_answered(&mut self, at: usize) -> bool {
        let Some(offered) = self.links.memory.offered.get_mut(at) else { return false };
        let answered = offered.is_answered();
        if answered.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            return false;
        }
        let offered = self.links.memory.offered.remove(at);
        match answered {
            Ok(()) => self.shared_link_up(offered.vc, offered.into_shared()),
            Err(error) => {
                let peer = self.peers[offered.vc].describe();
                log::info!("no memory is shared with {peer}: it refuses ({error})");
            }
        }
        true
    }

    /// Ends set-ups that have timed out, and records which links are in use.
    pub(in crate::endpoint) fn service_shared_memory(&mut self, now: Instant) {
        let is_young = |since: Instant| now.since_ns(since) < MAX_SETUP_NS;
        self.links.memory.arriving.retain(|_, arriving| is_young(arriving.since));
        self.links.memory.offered.retain(|_, offered| is_young(offered.since));
        self.links.memory.is_all = self.expects_only_memory();
        let rail = self.shared_memory_rail();
        for (_, link) in &*self.links.memory {
            self.diagnostics.counters.touch(rail, &link.common.counts, now);
        }
    }

    /// A link is proven.
    fn shared_link_up(&mut self, vc: VcId, shared: Shared) {
        let rail = self.shared_memory_rail();
        let is_taken = self.shares_memory(vc);
        let is_read = if shared.reads_peer() { "read where they are" } else { "copied" };
        // The peer's grant is known from the other connections.
        let Some(subchannel) = (!is_taken).then(|| self.engine.subchannel_up(vc, rail, None, 0).ok()).flatten() else {
            return;
        };
        let mut link = SharedMemoryLink::new(shared, subchannel, rail);
        self.engine.registrations().for_each(|registration| link.exposed.add(registration));
        let at = self.links.memory.add(link);
        let peer = &mut self.peers[vc];
        peer.set_link(subchannel.index, LinkId::Memory(at));
        self.diagnostics.counters.connected(rail, 1, &TcpInfo::default());
        log::info!("shared memory: connected to {}; its long messages are {is_read}", peer.describe());
        self.engine.prefer(subchannel);
        let socket: BorrowedFd<'_> = self.links.memory[at].socket();
        match self.poller.rename(socket, Kind::Bell.at(at)) {
            Ok(()) => self.engine.writable(subchannel, BUDGET),
            Err(error) => self.link_failed(LinkId::Memory(at), &format!("it cannot be watched: {error}")),
        }
    }
}
