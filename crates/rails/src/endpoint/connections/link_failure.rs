//! The end of links and peers. A link that fails costs its subchannel only, and is reconnected.

use std::os::fd::AsFd;

use fishplate_engine::{Instant, RailId, VcId};

use crate::connect::outgoing::Attempt;
use crate::endpoint::Endpoint;
use crate::endpoint::peer::Role;
use crate::link::{Counts, Link};
use crate::link_name::LinkName;
use crate::socket;
use crate::sys::tcp_info::tcp_info;

impl Endpoint {
    /// The peer has shut a link.
    pub(in crate::endpoint) fn link_shut(&mut self, at: usize, now: Instant) {
        let link = &self.links[at];
        let peer = &mut self.peers[link.subchannel.vc.0 as usize];
        peer.is_closing |= link.goodbye_received;
        if link.retirement.is_mutual() {
            return self.link_closed(at, "it was let go", now);
        }
        if !link.goodbye_received || link.receive.is_within_frame() {
            self.link_failed(at, "the connection was closed without a goodbye (did the process end?)", now);
            return;
        }
        self.link_closed(at, "the peer closes", now);
    }

    /// A link has ended in good order.
    fn link_closed(&mut self, at: usize, why: &str, now: Instant) {
        let subchannel = self.links[at].subchannel;
        self.remove_link(at);
        if self.lose_if_closed(subchannel.vc) {
            return;
        }
        self.engine.subchannel_down(now, subchannel, why);
        self.apply_memory_actions();
        if !self.peers[subchannel.vc.0 as usize].is_connected() {
            self.all_links_lost(subchannel.vc, now);
        }
    }

    /// A link has failed. What it carried goes over others, or waits for one.
    pub(in crate::endpoint) fn link_failed(&mut self, at: usize, cause: &str, now: Instant) {
        let Some(link) = self.links.get(at) else { return };
        let (subchannel, name, remote) = (link.subchannel, link.name, link.remote);
        let (rail, rtt_ns) = (link.rail, link.sampled.rtt_ns);
        let needs_short = link.may_lose_long_packets() && !self.own_addresses.contains(&remote.ip());
        let why = self.failure_text(at, cause);
        socket::abort_on_close(&link.socket);
        self.remove_link(at);
        log::warn!("{} {why}", self.peers[subchannel.vc.0 as usize].describe());
        if self.lose_if_closed(subchannel.vc) {
            return;
        }
        self.engine.subchannel_down(now, subchannel, &why);
        self.apply_memory_actions();
        let peer = &mut self.peers[subchannel.vc.0 as usize];
        peer.last_failure = why;
        // One that was set up while others carried is not missed.
        if !name.is_additional() {
            let pause_ns = peer.flap_damping(rail.0).failed(now);
            if peer.role == Role::Initiator && !peer.is_closing {
                let attempt = Attempt::new(subchannel.vc, name.rail, name.stream, remote, now);
                self.attempts.insert(attempt.reconnecting(pause_ns, rtt_ns).with_short_segments(needs_short));
            }
        }
        if !self.has_usable_link(subchannel.vc) {
            self.all_links_lost(subchannel.vc, now);
        }
    }

    /// The peer has broken the protocol on a link, as `how` says: that ends it.
    pub(in crate::endpoint) fn protocol_violation(&mut self, at: usize, how: &str) {
        let Some(link) = self.links.get(at) else { return };
        let vc = link.subchannel.vc;
        let cause = format!("the peer broke the protocol: {how}");
        let why = format!("{} is lost: {}", self.peers[vc.0 as usize].describe(), self.failure_text(at, &cause));
        self.lose_peer(vc, &why);
    }

    fn failure_text(&self, at: usize, cause: &str) -> String {
        let link = &self.links[at];
        let rail = &self.rails[usize::from(link.rail.0)];
        let own = link.socket.local_addr().map_or(rail.ip(), |own| own.ip());
        format!("rail {} ({own} to {}): {cause}", rail.name, link.remote)
    }

    /// Whether there is a link to the peer that is not being retired.
    pub(in crate::endpoint) fn has_usable_link(&self, vc: VcId) -> bool {
        let peer = &self.peers[vc.0 as usize];
        let mut links = peer.links.iter().flatten();
        peer.shared_memory.is_some() || links.any(|at| !self.links[*at].retirement.has_begun())
    }

    /// No link to a peer is left: now both sides reconnect, over all rails at once, without back-off.
    pub(in crate::endpoint) fn all_links_lost(&mut self, vc: VcId, now: Instant) {
        self.attempts.retain(|_, attempt| attempt.vc != vc || !attempt.is_additional());
        let peer = &mut self.peers[vc.0 as usize];
        match peer.role {
            Role::Initiator => {
                let attempts = self.attempts.iter_mut().map(|(_, attempt)| attempt);
                attempts.filter(|attempt| attempt.vc == vc).for_each(|attempt| attempt.retry_now(now));
            }
            Role::Acceptor if peer.address.is_some() && !peer.is_closing => self.reconnect(vc, now),
            // The side that has set the links up tries again; if it does not, the peer is lost.
            _ => peer.since = now,
        }
    }

    /// Closes the links and drops the peers that the engine has given up.
    pub(in crate::endpoint) fn apply_engine_failures(&mut self, now: Instant) {
        while let Some(subchannel) = self.engine.poll_failed_subchannel() {
            if let Some(at) = self.link_of(subchannel) {
                self.link_failed(at, "it carried nothing while other rails did", now);
            }
        }
        while let Some(vc) = self.engine.poll_lost_peer() {
            self.drop_connections(vc);
        }
    }

    /// The link of a peer over `rail` that is called `line` by the side that sets links up, one of whose rails may lead to
    /// several of the other's.
    pub(in crate::endpoint) fn find_link(&self, vc: VcId, name: LinkName, rail: RailId) -> Option<usize> {
        let mut links = self.peers[vc.0 as usize].links.iter().flatten();
        links.find(|at| (self.links[**at].name, self.links[**at].rail) == (name, rail)).copied()
    }

    /// Ends a peer that has said goodbye, once its last link is shut. True if it is ended.
    pub(in crate::endpoint) fn lose_if_closed(&mut self, vc: VcId) -> bool {
        let peer = &self.peers[vc.0 as usize];
        let closed = peer.is_closing && !peer.is_connected();
        if closed {
            let why = format!("{} has closed its endpoint", peer.describe());
            self.lose_peer(vc, &why);
        }
        closed
    }

    /// Ends a peer when every rail that was connected says that nobody listens there any more: its process has ended.
    pub(in crate::endpoint) fn lose_if_gone(&mut self, vc: VcId) {
        let peer = &self.peers[vc.0 as usize];
        let attempts = self.attempts.iter().map(|(_, attempt)| attempt);
        let mut again = attempts.filter(|attempt| attempt.vc == vc && attempt.is_reconnect).peekable();
        if !peer.is_connected() && again.peek().is_some() && again.all(Attempt::is_refused) {
            let why = format!(
                "{} is lost: its process has ended (no rail finds it listening); before that, {}",
                peer.describe(),
                peer.last_failure
            );
            self.lose_peer(vc, &why);
        }
    }

    /// Takes a link out and closes its socket.
    pub(in crate::endpoint) fn remove_link(&mut self, at: usize) {
        let link = self.links.remove(at);
        self.held.remove(at);
        self.unacknowledged_datagrams.retain(|other| *other != at);
        self.paused_links.retain(|other| *other != at);
        self.stalled.retain(|other| *other != at);
        self.awaiting_kernel_acks.retain(|other| *other != at);
        self.record_counters(&link);
        let subchannel = link.subchannel;
        self.peers[subchannel.vc.0 as usize].links[usize::from(subchannel.index)] = None;
        if self.active_link == Some(at) {
            self.active_link = None;
        }
    }

    /// Closes everything that a peer has and ends its operations.
    pub(in crate::endpoint) fn lose_peer(&mut self, vc: VcId, why: &str) {
        self.drop_connections(vc);
        self.engine.lose(vc, why);
        self.apply_memory_actions();
    }

    /// Closes everything that a peer has.
    fn drop_connections(&mut self, vc: VcId) {
        let links: Vec<usize> = self.peers[vc.0 as usize].links.iter().flatten().copied().collect();
        links.into_iter().for_each(|at| self.remove_link(at));
        self.peers[vc.0 as usize].shared_memory.into_iter().for_each(|at| self.remove_shared_link(at));
        self.attempts.retain(|_, attempt| attempt.vc != vc);
        self.stream_groups.retain(|group| !group.is_to(vc));
        self.peers[vc.0 as usize].role = Role::Lost;
    }

    fn record_counters(&mut self, link: &Link) {
        let retransmitted = tcp_info(link.socket.as_fd()).map(|info| u64::from(info.retransmitted));
        let retransmitted = retransmitted.unwrap_or(link.counts.retransmitted);
        self.counters.add(link.rail, &Counts { retransmitted, ..link.counts }, self.clock.now());
    }
}
