//! The end of links and peers. A link that fails costs its subchannel only, and is reconnected.

use fishplate_engine::{Instant, RailId, SubchannelId, VcId};
use fishplate_link_core::Ending;

use crate::ablation::Mechanism;
use crate::connect::outgoing::{Attempt, MIN_BACKOFF_NS};
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::Role;
use crate::link::StreamLink;
use crate::link_name::LinkName;
use crate::socket;

/// Calls that read a failing link to its end, at most, of `MAX_READS` reads each: more
/// than the kernel buffers.
const MAX_LAST_READS: usize = 64;

/// The attempt that replaces a failed link.
struct Missed {
    rail: RailId,
    rtt_ns: u64,
    attempt: Attempt,
}

impl Endpoint {
    /// The peer has shut a link, and all frames that came over it are handled.
    pub(in crate::endpoint) fn link_shut(&mut self, id: LinkId) {
        let Some(link) = self.links.get(id) else { return };
        let (ending, subchannel) = (link.ending(), link.common().subchannel);
        match ending {
            Ending::Retired => self.link_closed(id, subchannel, "it was let go"),
            Ending::InOrder => {
                self.peers[subchannel.vc].is_closing = true;
                self.link_closed(id, subchannel, "the peer closes");
            }
            Ending::Abrupt => {
                self.link_failed(id, "the connection was closed without a goodbye");
            }
        }
    }

    /// A link has ended in good order.
    fn link_closed(&mut self, id: LinkId, subchannel: SubchannelId, why: &str) {
        let now = self.read_clock();
        self.recover_sent(id, subchannel);
        self.remove_link(id);
        if self.lose_if_closed(subchannel.vc) {
            return;
        }
        self.engine.subchannel_down(now, subchannel, why);
        self.apply_memory_actions();
        self.stand_by(subchannel.vc);
        if !self.peers[subchannel.vc].is_connected() {
            self.all_links_lost(subchannel.vc, now);
        }
    }

    /// Ends links whose sockets cannot be written any more, after reading what has come over them: a goodbye may be among it.
    pub(in crate::endpoint) fn fail_broken_links(&mut self) {
        while let Some((at, cause)) = self.links.tcp.take_broken() {
            self.link_failed(LinkId::Tcp(at), &cause);
        }
    }

    /// A link has failed. Received frames are handled; unacknowledged frames go over other links, or wait for one.
    pub(in crate::endpoint) fn link_failed(&mut self, id: LinkId, cause: &str) {
        let now = self.read_clock();
        // A goodbye among the last frames ends the link in good order.
        if let LinkId::Tcp(at) = id {
            self.read_to_the_end(at, now);
        }
        let Some(subchannel) = self.links.get(id).map(|link| link.common().subchannel) else { return };
        let why = self.failure_text(id, cause);
        if let Some(at) = self.was_let_go_of(id) {
            log::debug!("{}: the peer has given up its attempt to connect", self.peers[subchannel.vc].describe());
            return self.link_evicted(at);
        }
        let missed = match id {
            LinkId::Tcp(at) => self.attempt_after(at, now),
            // Links of other kinds are set up anew by the set-up of their kind, over a connection.
            _ => None,
        };
        self.recover_sent(id, subchannel);
        self.remove_link(id);
        let is_over = self.engine.is_quiet_with(subchannel.vc);
        let peer = &mut self.peers[subchannel.vc];
        peer.is_closing |= peer.said_goodbye && is_over;
        // At the end of an endpoint only undelivered messages are worth a warning.
        let level = if self.progress.is_closing || peer.said_goodbye { log::Level::Info } else { log::Level::Warn };
        log::log!(level, "{} {why}", peer.describe());
        peer.last_failure.clone_from(&why);
        if self.lose_if_closed(subchannel.vc) {
            return;
        }
        self.engine.subchannel_down(now, subchannel, &why);
        self.apply_memory_actions();
        self.stand_by(subchannel.vc);
        let peer = &mut self.peers[subchannel.vc];
        if let Some(missed) = missed {
            let pause_ns = peer.flap_damping(missed.rail).failed(now);
            let is_damped = !self.settings.ablation.is_off(Mechanism::FlapDamping);
            let pause_ns = if is_damped { pause_ns } else { MIN_BACKOFF_NS };
            if peer.role == Role::Initiator && !peer.is_closing {
                self.attempts.insert(missed.attempt.reconnecting(pause_ns, missed.rtt_ns));
            }
        }
        if !self.has_usable_link(subchannel.vc) {
            self.all_links_lost(subchannel.vc, now);
        }
    }

    /// Reads and handles all that has come over a failing stream. A goodbye among it ends the stream in good order.
    pub(in crate::endpoint) fn read_to_the_end(&mut self, at: usize, now: Instant) {
        let Some(link) = self.links.tcp.get_mut(at) else { return };
        if std::mem::replace(&mut link.is_ending, true) {
            return;
        }
        let StreamLink { lent, receive, .. } = link;
        lent.end_receiving(receive);
        self.collect_received(at, now);
        let mut left = MAX_LAST_READS;
        while left > 0 && self.links.tcp.contains(at) && self.read_link(at, now) {
            left -= 1;
        }
    }

    /// The attempt that replaces a failing stream; `None` for additional streams, which are not replaced. Records the failure of an
    /// added way.
    fn attempt_after(&mut self, at: usize, now: Instant) -> Option<Missed> {
        let link = &self.links.tcp[at];
        let (vc, rail) = (link.common.subchannel.vc, link.common.rail);
        if link.name.is_additional() && self.links_over(vc, rail) <= 1 {
            self.lost_added_way(vc, rail, now);
        }
        let link = &self.links.tcp[at];
        socket::abort_on_close(&link.socket);
        let needs_short = link.may_lose_long_packets() && !self.host.has(link.remote.ip());
        let attempt = Attempt::new(vc, RailId(link.name.rail), link.name.stream, link.remote, now);
        let attempt = attempt.of_class(link.class).with_short_segments(needs_short);
        (!link.name.is_additional()).then_some(Missed { rail: link.common.rail, rtt_ns: link.sampled.rtt_ns, attempt })
    }

    /// Copies payloads that only a link has, so that they can be retransmitted over others.
    pub(super) fn recover_sent(&mut self, id: LinkId, subchannel: SubchannelId) {
        let Endpoint { links, engine, bounces, .. } = self;
        let Some(link) = links.get(id) else { return };
        engine.recover(subchannel, |frame, len, copy| link.recover(frame, len, bounces.open(copy)));
    }

    /// Reads the clock. (A progress call that finds something in shared memory may have skipped that.)
    pub(super) fn read_clock(&mut self) -> Instant {
        self.progress.now = self.clock.now();
        self.progress.now
    }

    /// The peer has violated the protocol on a link, as `how` says: it is lost.
    pub(in crate::endpoint) fn protocol_violation(&mut self, id: LinkId, how: &str) {
        let Some(link) = self.links.get(id) else { return };
        let vc = link.common().subchannel.vc;
        let cause = format!("the peer broke the protocol: {how}");
        let why = format!("{} is lost: {}", self.peers[vc].describe(), self.failure_text(id, &cause));
        self.lose_peer(vc, &why);
    }

    fn failure_text(&self, id: LinkId, cause: &str) -> String {
        let Some(link) = self.links.get(id) else { return cause.into() };
        let way = link.way().map(|way| format!(" ({way})")).unwrap_or_default();
        format!("rail {}{way}: {cause}", self.rail_name(link.common().rail))
    }

    /// Whether there is a link to the peer that is not being retired.
    pub(in crate::endpoint) fn has_usable_link(&self, vc: VcId) -> bool {
        let mut links = self.peers[vc].links.iter().flatten().filter_map(|id| self.links.get(*id));
        links.any(|link| link.is_usable())
    }

    /// No link to a peer is left: both sides reconnect, over all rails at once, without backoff.
    pub(in crate::endpoint) fn all_links_lost(&mut self, vc: VcId, now: Instant) {
        self.attempts.retain(|_, attempt| attempt.vc != vc || !attempt.is_additional());
        self.restart_reach(vc, now);
        let peer = &mut self.peers[vc];
        match peer.role {
            Role::Initiator => {
                self.attempts.to_mut(vc).for_each(|attempt| attempt.retry_now(now));
                self.try_other_ways(vc, now);
            }
            Role::Acceptor if peer.address.is_some() && !peer.is_closing => {
                self.reconnect(vc, now);
                self.try_other_ways(vc, now);
            }
            // The other side reconnects; if it does not, the peer is lost.
            _ => {
                peer.since = now;
                if peer.role == Role::Acceptor && !peer.is_closing {
                    self.peers.nameless.push(vc);
                }
            }
        }
    }

    /// Closes the links and drops the peers that the engine has given up.
    pub(in crate::endpoint) fn apply_engine_failures(&mut self) {
        while let Some(subchannel) = self.engine.poll_failed_subchannel() {
            if let Some(link) = self.link_of(subchannel) {
                self.link_failed(link, "it carried nothing while other rails did");
            }
        }
        while let Some(vc) = self.engine.poll_unreachable_peer() {
            let causes = self.engine.outage(vc).map_or(String::new(), |(_, causes)| causes);
            let (peer, seconds) = (self.peers[vc].describe(), self.settings.timeout.as_secs());
            let others = self.host.left_out();
            let why = format!("{peer} is lost: no rail to it has come back for {seconds} s: {causes}; {others}");
            self.lose_peer(vc, &why);
        }
    }

    /// The link of a peer over `rail` with this `name`, which the side that sets links up gives; one of its rails may lead to several
    /// rails of the other side.
    pub(in crate::endpoint) fn find_link(&self, vc: VcId, name: LinkName, rail: RailId) -> Option<usize> {
        let mut links = self.links.tcp.of_peer(&self.peers[vc]);
        links.find(|(_, link)| (link.name, link.common.rail) == (name, rail)).map(|(at, _)| at)
    }

    /// Ends a peer that has sent a goodbye, once its last link is shut. True if it is ended.
    pub(in crate::endpoint) fn lose_if_closed(&mut self, vc: VcId) -> bool {
        let peer = &self.peers[vc];
        let closed = peer.is_closing && !peer.is_connected();
        if closed {
            let why = format!("{} has closed its endpoint", peer.describe());
            self.lose_peer(vc, &why);
        }
        closed
    }

    /// Ends a connected peer once every rail is refused by its kernel: its process has ended.
    pub(in crate::endpoint) fn lose_if_gone(&mut self, vc: VcId) {
        let peer = &self.peers[vc];
        let attempts = || self.attempts.to(vc);
        // A refusal over a way that never led to the peer may come from another host.
        let was_connected = attempts().any(|attempt| attempt.is_reconnect);
        let is_again = |attempt: &&Attempt| attempt.is_reconnect || !was_connected && peer.is_reached;
        let best = attempts().filter(is_again).map(|attempt| attempt.class).min();
        let again = || attempts().filter(is_again).filter(|attempt| Some(attempt.class) == best);
        if !peer.is_connected() && best.is_some() && again().all(Attempt::is_refused) {
            let before = match peer.last_failure.as_str() {
                "" => String::new(),
                before => format!("; before that, {before}"),
            };
            let why = match peer.said_goodbye {
                true => format!("{} has closed its endpoint", peer.describe()),
                false => {
                    format!("{} is lost: its process has ended (no rail finds it listening){before}", peer.describe())
                }
            };
            self.lose_peer(vc, &why);
        }
    }

    /// Removes and closes a link. The peer reads no memory of this process over it any more, or discards what it reads.
    pub(in crate::endpoint) fn remove_link(&mut self, id: LinkId) {
        let Some(link) = self.links.get(id) else { return };
        let (rail, subchannel) = (link.common().rail, link.common().subchannel);
        let peer = &mut self.peers[subchannel.vc];
        peer.links[usize::from(subchannel.index)] = None;
        let counts = self.take_out(id);
        self.diagnostics.counters.add(rail, &counts, self.clock.now());
    }

    /// Closes all links and attempts of a peer and fails its operations.
    pub(in crate::endpoint) fn lose_peer(&mut self, vc: VcId, why: &str) {
        self.drop_connections(vc);
        self.engine.lose(vc, why);
        self.apply_memory_actions();
    }

    /// Closes all links and attempts of a peer.
    fn drop_connections(&mut self, vc: VcId) {
        let links: Vec<LinkId> = self.peers[vc].links.iter().flatten().copied().collect();
        links.into_iter().for_each(|link| self.remove_link(link));
        self.end_set_up(vc);
        self.links.tcp.groups.retain(|group| !group.is_to(vc));
        self.peers[vc].role = Role::Lost;
    }
}
