//! Connections that are given back. Where a rank runs short of files, the connection that has been idle longest is closed for one
//! that is needed (EVICT), and set up again, by either side, once there is something to send.
//!
//! A connection is *idle* if nothing is under way over it in either direction. A peer is *unconnected* if it has no connection and
//! none is being set up.
//!
//! The side that is short closes without asking: nothing is under way as far as it knows, and frames that the peer has just sent
//! are retransmitted as after a failure. So a file is free at once, whether or not the peer's process looks at its sockets.
//! Where a peer has several connections, these go before any peer's last one. An unconnected peer is treated as one that was
//! never connected, except that its channel keeps its state.

#[cfg(test)]
mod tests;

use std::os::fd::AsRawFd;

use fishplate_engine::wire::Body;
use fishplate_engine::{Instant, VcId};

use crate::connect::outgoing::AttemptError;
use crate::endpoint::Endpoint;
use crate::endpoint::connections::refuser::PATIENCE_NS;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::{Peer, Role};
use crate::link::StreamLink;

/// A connection is set up for a message: until it has carried one it is kept for so long, in nanoseconds. Otherwise ranks that
/// are short could take each other's connections in turn before these are of any use.
const UNUSED_NS: u64 = 1_000_000_000;
/// Given back at a time where the reserve is in use: one for the connection that has come up, and one for what was taken of the
/// reserve while none was idle.
const GIVEN_BACK_AT_A_TIME: usize = 2;

impl Endpoint {
    /// Gives back the connection that has been idle longest. False: none is idle.
    pub(in crate::endpoint) fn give_back_one(&mut self, now: Instant) -> bool {
        // Each attempt that waits for a file asks, in the same moment.
        if self.links.tcp.none_idle_at == Some(now) {
            return false;
        }
        // What has come over one connection may be news of others: of these, the list is made anew.
        for _ in 0..=self.links.tcp.len() {
            let Some(at) = self.idle_links(now).first().copied() else { break };
            // Closing with something unread would look like a failure.
            if !self.read_link(at, now) && self.links.tcp.contains(at) {
                self.give_back(at, now);
                return true;
            }
        }
        self.links.tcp.none_idle_at = Some(now);
        false
    }

    /// Connections over which nothing is under way, those to be given back first at the front.
    fn idle_links(&self, now: Instant) -> Vec<usize> {
        let mut idle = Vec::new();
        for (vc, since) in self.engine.idle_peers() {
            let peer = &self.peers[vc];
            if !may_be_given_back(peer) {
                continue;
            }
            let usable = || self.links.tcp.of_peer(peer).filter(|(_, link)| !link.retirement.has_begun());
            let is_last = usable().count() == 1;
            let spare = usable().filter(|(_, link)| is_idle(link, now));
            idle.extend(spare.map(|(at, link)| (is_last, since.max(link.up_since), at)));
        }
        idle.sort_unstable();
        idle.into_iter().map(|(_, _, at)| at).collect()
    }

    fn give_back(&mut self, at: usize, now: Instant) {
        let link = &self.links.tcp[at];
        let (rail, remote) = (link.common.rail, link.remote);
        self.say_evict(at, now);
        log::info!("rail {}: the idle connection to {remote} is given back", self.host[rail].name);
        if self.links.tcp.files.ran_short() {
            log::warn!("{}", self.links.tcp.files.gives_back());
        }
        self.link_evicted(at);
    }

    fn say_evict(&mut self, at: usize, now: Instant) {
        let header = self.engine.bare_header(now, self.links.tcp[at].common.subchannel, Body::Evict);
        self.links.tcp.push_header(at, &header);
        self.flush(at);
    }

    /// A connection was given back by either side.
    pub(in crate::endpoint) fn link_evicted(&mut self, at: usize) {
        let now = self.read_clock();
        let (id, subchannel) = (LinkId::Tcp(at), self.links.tcp[at].common.subchannel);
        self.recover_sent(id, subchannel);
        self.remove_link(id);
        let vc = subchannel.vc;
        if self.lose_if_closed(vc) {
            return;
        }
        self.engine.subchannel_evicted(subchannel);
        self.apply_memory_actions();
        self.stand_by(vc);
        self.peers[vc].is_widened = false;
        // What retires carries nothing more, and the peer may not let go of it as its last.
        let retires = self.links.tcp.of_peer(&self.peers[vc]).map(|(at, _)| at).next();
        if let Some(at) = retires.filter(|_| !self.has_usable_link(vc)) {
            self.say_evict(at, now);
            return self.link_evicted(at);
        }
        if !self.peers[vc].is_connected() && !matches!(self.peers[vc].role, Role::Lost) {
            self.leave_unconnected(vc, now);
        }
    }

    /// The connection, if a link that has failed is one that the peer had begun to set up and did not wait for. Ranks that run
    /// short of files begin many anew.
    pub(in crate::endpoint) fn was_let_go_of(&self, id: LinkId) -> Option<usize> {
        let LinkId::Tcp(at) = id else { return None };
        let link = &self.links.tcp[at];
        (self.links.tcp.files.is_short() && link.name.by_peer && !link.is_confirmed).then_some(at)
    }

    /// Has an attempt to connect wait, whose file another connection needs: one that the peer does not know of, if there is one. False:
    /// none has a file.
    pub(in crate::endpoint) fn postpone_an_attempt(&mut self, now: Instant) -> bool {
        let opened = self.attempts.iter().filter(|(_, attempt)| attempt.has_socket());
        let Some((at, _)) = opened.min_by_key(|(_, attempt)| attempt.is_taken()) else { return false };
        self.attempts[at].pause(AttemptError::no_file(), now);
        true
    }

    /// A peer's last connection was given back. The next is set up as the first was, once there is something to send.
    fn leave_unconnected(&mut self, vc: VcId, now: Instant) {
        self.end_set_up(vc);
        self.peers.has_unconnected = true;
        let peer = &mut self.peers[vc];
        peer.role = Role::Unconnected;
        peer.known_paths.clear();
        peer.attempt_errors.clear();
        peer.left_to_it_at = None;
        if std::mem::take(&mut peer.was_turned_away) || self.engine.has_backlog(vc) {
            self.connect_again(vc, now);
        }
    }

    /// Connects an unconnected peer, or waits for its connection where only the peer knows an address.
    fn connect_again(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        if peer.address.is_some() {
            return self.connect(vc, now);
        }
        (peer.role, peer.since) = (Role::Acceptor, now);
        self.peers.nameless.push(vc);
    }

    /// Connects unconnected peers to which the engine has something to send. (What the user posts connects them at once.)
    pub(in crate::endpoint) fn service_unconnected(&mut self, now: Instant) {
        if !self.peers.has_unconnected {
            return;
        }
        for vc in self.peers.channels() {
            if self.peers[vc].is_unconnected() && !self.peers[vc].is_closing && self.engine.has_backlog(vc) {
                self.connect_again(vc, now);
            }
        }
    }

    /// Where connections have begun to take the program's share of files, idle ones are given back.
    pub(in crate::endpoint) fn service_reserve_of_files(&mut self, now: Instant) {
        if self.links.tcp.files.take_reserve_in_use() && !self.progress.is_closing {
            let _ = (0..GIVEN_BACK_AT_A_TIME).all(|_| self.give_back_one(now));
        }
    }

    /// A connection has come up: its number shows how many files are left.
    pub(in crate::endpoint) fn count_file(&mut self, at: usize) {
        let number = self.links.tcp[at].socket.as_raw_fd();
        self.links.tcp.files.opened(number as usize);
    }

    /// How long files may be short until a peer is refused or given up, in nanoseconds: connections that are in use become
    /// idle, and those that are being set up are used, where there are any.
    pub(in crate::endpoint) fn patience_for_files_ns(&self) -> u64 {
        let has_files = !self.links.tcp.is_empty()
            || !self.listening.unproven.is_empty()
            || self.attempts.iter().any(|(_, attempt)| attempt.has_socket());
        if has_files { self.settings.start_timeout.as_nanos() as u64 } else { PATIENCE_NS }
    }
}

/// Whether connections to a peer may be given back: it takes no leave, and nothing else than connections leads to it.
fn may_be_given_back(peer: &Peer) -> bool {
    let is_tcp = |id: &LinkId| matches!(id, LinkId::Tcp(_));
    peer.is_there() && !peer.said_goodbye && peer.links.iter().flatten().all(is_tcp)
}

fn is_idle(link: &StreamLink, now: Instant) -> bool {
    let counts = &link.common.counts;
    let is_used = counts.rx_messages + counts.tx_messages > 0 || now.since_ns(link.up_since) >= UNUSED_NS;
    let is_closing = link.is_shut || link.common.goodbye_sent;
    let is_sending = !link.transmit.is_empty() || link.transmit.is_lent() || link.blocked;
    let is_receiving = link.receive.is_lent() || link.receive.is_within_frame();
    is_used && !is_closing && !is_sending && !is_receiving
}
