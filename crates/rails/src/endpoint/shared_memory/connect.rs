//! Set-up. The side to which a connection was made offers to share memory, if it is from this host, as its address says;
//! whether that is so the attempt shows.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, VcId};

use crate::endpoint::Endpoint;
use crate::endpoint::peer::Role;
use crate::endpoint::progress::token::Token;
use crate::endpoint::send::BUDGET;
use crate::link_kind::LinkId;
use crate::logger::STRANGERS;
use crate::random::random;
use crate::shared_memory::SharedMemoryLink;
use crate::shared_memory::setup::{Arriving, Listener, MOST_NS, Offered, Shared};
use crate::sys::poll::Kind;
use crate::sys::tcp_info::TcpInfo;

/// Most connections over which memory is to come and has not. Only processes of the same user get so far.
const MOST_ARRIVING: usize = 1024;

impl Endpoint {
    /// Link `at` has come up: offers its peer to share memory, if that may be.
    pub(in crate::endpoint) fn offer_shared_memory(&mut self, at: usize) {
        let link = &self.links.streams[at];
        let vc = link.common.subchannel.vc;
        if !link.name.by_peer || link.name.is_additional() || !self.may_share_memory(vc, at) {
            return;
        }
        let Some(listener) = self.shared_memory_listener() else { return };
        let secret = &mut self.peers[vc].shared_memory_secret;
        if secret.is_none() {
            *secret = random().ok().map(u128::from_le_bytes);
        }
        let Some(secret) = *secret else { return };
        self.links.streams[at]
            .transmit
            .push_header(&Header::without_acknowledgement(Body::SharedMemory { listener, secret }));
        self.mark_dirty(at);
    }

    /// The peer of link `at` offers to share memory.
    pub(in crate::endpoint) fn shared_memory_offered(&mut self, at: usize, listener: u64, secret: u128, now: Instant) {
        let vc = self.links.streams[at].common.subchannel.vc;
        let is_passed = self.shared_memory.offered.iter().any(|(_, offered)| offered.vc == vc);
        if is_passed || !self.may_share_memory(vc, at) {
            return;
        }
        let passed = Offered::pass(vc, listener, secret, now).and_then(|offered| {
            let entry = self.shared_memory.offered.vacant_entry();
            self.poller.add(offered.socket(), Kind::Stream, Token::Offered(entry.key()).number())?;
            entry.insert(offered);
            Ok(())
        });
        if let Err(error) = passed {
            log::info!("no memory is shared with {}: {error}", self.peers[vc].describe());
        }
    }

    /// Whether the peer of link `at` is on this host, and may share memory.
    fn may_share_memory(&self, vc: VcId, at: usize) -> bool {
        let has_none = self.peers[vc].shared_memory.is_none();
        self.settings.shared_memory && has_none && self.host.has(self.links.streams[at].remote.ip())
    }

    /// The name of the socket at which memory is taken.
    fn shared_memory_listener(&mut self) -> Option<u64> {
        if self.shared_memory.listener.is_none() {
            let opened = Listener::open().and_then(|listener| {
                self.poller.add(listener.socket(), Kind::Stream, Token::SharedListener.number())?;
                Ok(listener)
            });
            match opened {
                Ok(listener) => self.shared_memory.listener = Some(listener),
                Err(error) => log::info!("no memory is shared: {error}"),
            }
        }
        self.shared_memory.listener.as_ref().map(|listener| listener.name)
    }

    /// Takes connections over which memory is to come.
    pub(in crate::endpoint) fn accept_shared_memory(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(listener) = &self.shared_memory.listener {
            // Any user of the host can connect.
            if !self.unproven.may_accept() {
                self.accept_paused = true;
                return any;
            }
            let accepted = match listener.accept(now) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return any,
                accepted => accepted,
            };
            self.unproven.accepted();
            match accepted {
                Ok(Some(arriving)) if self.shared_memory.arriving.len() < MOST_ARRIVING => {
                    any = true;
                    let at = self.shared_memory.arriving.insert(arriving);
                    let socket = self.shared_memory.arriving[at].socket();
                    if self.poller.add(socket, Kind::Stream, Token::Arriving(at).number()).is_err() {
                        self.shared_memory.arriving.remove(at);
                    }
                }
                Ok(Some(_)) => log::warn!(
                    target: STRANGERS,
                    "memory that a process would share is refused: too many others have not shown theirs"
                ),
                Ok(None) => {
                    log::warn!(target: STRANGERS, "memory that a process of another user would share is refused");
                }
                Err(_) => {
                    // Out of files, mostly. The poll set reports waiting connections only once.
                    self.accept_paused = true;
                    return any;
                }
            }
        }
        any
    }

    /// Something has come over such a connection.
    pub(in crate::endpoint) fn shared_memory_arrived(&mut self, at: usize) -> bool {
        let Some(arriving) = self.shared_memory.arriving.get(at) else { return false };
        let came = arriving.receive();
        if came.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            return false;
        }
        let arriving = self.shared_memory.arriving.remove(at);
        let opened = came.and_then(|(secret, file)| {
            let is_expected = |vc: &VcId| {
                let peer = &self.peers[*vc];
                let is_there = matches!(peer.role, Role::Initiator | Role::Acceptor);
                is_there && peer.shared_memory.is_none() && peer.shared_memory_secret == Some(secret)
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

    /// A peer answers to memory that it was offered.
    pub(in crate::endpoint) fn shared_memory_answered(&mut self, at: usize) -> bool {
        let Some(offered) = self.shared_memory.offered.get_mut(at) else { return false };
        let answered = offered.is_answered();
        if answered.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            return false;
        }
        let offered = self.shared_memory.offered.remove(at);
        match answered {
            Ok(()) => self.shared_link_up(offered.vc, offered.into_shared()),
            Err(error) => {
                let peer = self.peers[offered.vc].describe();
                log::info!("no memory is shared with {peer}: it refuses ({error})");
            }
        }
        true
    }

    /// Ends set-ups that take too long, and notes which links are in use.
    pub(in crate::endpoint) fn service_shared_memory(&mut self, now: Instant) {
        let is_young = |since: Instant| now.since_ns(since) < MOST_NS;
        self.shared_memory.arriving.retain(|_, arriving| is_young(arriving.since));
        self.shared_memory.offered.retain(|_, offered| is_young(offered.since));
        self.shared_memory.is_all = self.expects_only_memory();
        let rail = self.shared_memory_rail();
        for (_, link) in &self.links.memory {
            self.counters.touch(rail, &link.common.counts, now);
        }
    }

    /// A link is proven.
    fn shared_link_up(&mut self, vc: VcId, shared: Shared) {
        let rail = self.shared_memory_rail();
        let is_taken = self.peers[vc].shared_memory.is_some();
        let is_read = if shared.process.is_some() { "read where they are" } else { "copied" };
        // The other connections have said what the peer grants.
        let Some(subchannel) = (!is_taken).then(|| self.engine.subchannel_up(vc, rail, None, 0).ok()).flatten() else {
            return;
        };
        let mut link = SharedMemoryLink::new(shared, subchannel, rail);
        self.engine.registrations().for_each(|registration| link.exposed.add(registration));
        let at = self.links.memory.insert(link);
        self.shared_memory.keys.push(at);
        let peer = &mut self.peers[vc];
        peer.shared_memory = Some(at);
        peer.set_link(subchannel.index, LinkId::Memory(at));
        self.counters.connected(rail, 1, &TcpInfo::default());
        log::info!("shared memory: connected to {}; its long messages are {is_read}", peer.describe());
        self.engine.prefer(subchannel);
        let socket: BorrowedFd<'_> = self.links.memory[at].socket();
        match self.poller.rename(socket, Kind::Stream, Token::Shared(at).number()) {
            Ok(()) => self.engine.writable(subchannel, BUDGET),
            Err(error) => self.link_failed(LinkId::Memory(at), &format!("it cannot be watched: {error}")),
        }
    }
}
