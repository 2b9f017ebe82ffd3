//! For how long a peer without any connection so far is waited for.
//!
//! At the start of a job it is short, as a job that was started wrongly should fail soon. A process that has run for an hour would
//! lose more than it saves by giving up as early: it waits for as long as it has run. A peer whose kernel has answered exists.

use std::time::Duration;

use fishplate_engine::{Instant, VcId};

use crate::endpoint::Endpoint;
use crate::endpoint::peer::{Peer, Role};
use crate::socket::SILENT_FOR_NS;

impl Endpoint {
    /// How long a peer is waited for, in nanoseconds. (Time counts from the opening of the endpoint.) Where its kernel accepts
    /// connections, its process is stopped or computes; another listener there is rare. A refusal by its kernel is an answer.
    pub(in crate::endpoint) fn patience(&self, vc: VcId) -> Duration {
        let (most, least) = (self.settings.timeout, self.settings.start_timeout);
        let peer = &self.peers[vc];
        if peer.is_reached {
            most
        } else if self.attempts.are_refused(vc) {
            least
        } else {
            Duration::from_nanos(peer.since.0).max(least).min(most)
        }
    }

    /// Whether the time of a peer that was never connected is over. Time in which this host is cut off does not count.
    pub(in crate::endpoint) fn is_late(&mut self, vc: VcId, now: Instant) -> bool {
        let peer = &self.peers[vc];
        let waited = |since: Instant| Duration::from_nanos(now.since_ns(since));
        if waited(peer.since) >= self.settings.timeout {
            return true;
        }
        if waited(peer.since.max(peer.cut_off_at)) < self.patience(vc) {
            return false;
        }
        let is_cut_off = self.is_cut_off();
        if is_cut_off {
            self.peers[vc].cut_off_at = now;
        }
        !is_cut_off
    }

    /// Whether this host, or the network next to it, is the cause: its rails have gone down, or it had peers on other hosts and reaches
    /// none of them.
    fn is_cut_off(&self) -> bool {
        let is_elsewhere = |peer: &Peer| peer.known_paths.iter().any(|way| !self.host.has(way.remote));
        let mut others = self.peers.iter().filter(|peer| peer.is_there() && is_elsewhere(peer)).peekable();
        self.host.is_down() || (others.peek().is_some() && !others.any(Peer::is_connected))
    }

    /// Gives up peers that were to set up the connections themselves, and have not.
    pub(super) fn lose_silent_initiators(&mut self, now: Instant) {
        for vc in self.peers.channels() {
            let peer = &self.peers[vc];
            let waits = peer.role == Role::Acceptor && !peer.is_connected();
            // The peer would have connected by now.
            if waits && peer.left_to_it_at.is_some_and(|then| now.since_ns(then) >= SILENT_FOR_NS) {
                self.try_again(vc, now);
                continue;
            }
            // Peers that were connected before are given up by the engine.
            if waits && peer.known_paths.is_empty() && self.is_late(vc, now) {
                self.lose_peer(vc, &self.out_of_reach(vc, "it did not set up its connection"));
            }
        }
    }

    /// The peer has not set up the connections that were left to it: this side tries, as perhaps only it finds a way.
    fn try_again(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        let since = peer.since;
        peer.left_to_it_at = None;
        self.connect_instead(vc, now);
        self.peers[vc].since = since;
    }

    /// This side sets up the connections from now on, over the ways that have carried some.
    pub(in crate::endpoint) fn connect_instead(&mut self, vc: VcId, now: Instant) {
        match self.peers[vc].known_paths.is_empty() {
            true => self.connect(vc, now),
            false => self.reconnect(vc, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::link_id::LinkId;
    use crate::endpoint::test_pair::Pair;

    const S: u64 = 1_000_000_000;

    /// A pair, and a third endpoint's name at the first one, which has turned to it after this number of seconds.
    fn with_stranger(seconds: u64) -> (Pair, Pair, VcId) {
        let (mut pair, others) = (Pair::open(), Pair::open());
        let address = others.ends[0].address().clone();
        let vc = pair.ends[0].peer(&address);
        let peer = &mut pair.ends[0].peers[vc];
        (peer.role, peer.since) = (Role::Initiator, Instant(seconds * S));
        (pair, others, vc)
    }

    #[test]
    fn a_process_waits_for_a_stranger_as_long_as_it_has_run() {
        for (ran, waits) in [(0, 30), (29, 30), (100, 100), (4000, 900)] {
            let (mut pair, others, vc) = with_stranger(ran);
            let end = &mut pair.ends[0];
            let late = |end: &mut Endpoint, seconds| end.is_late(vc, Instant((ran + seconds) * S));
            assert_eq!([waits - 1, waits].map(|seconds| late(end, seconds)), [false, true], "after {ran} s");
            end.peers[vc].is_reached = true;
            assert_eq!([899, 900].map(|seconds| late(end, seconds)), [false, true], "after {ran} s, reached");
            pair.ends[0].peers[vc].role = Role::Unconnected;
            pair.close();
            others.close();
        }
    }

    #[test]
    fn time_without_any_peer_of_those_that_were_reached_does_not_count() {
        let (mut pair, others, vc) = with_stranger(1);
        let links = pair.links(0);
        let end = &mut pair.ends[0];
        // The other one counts as one of another host.
        end.host.addresses.clear();
        assert!(end.is_late(vc, Instant(31 * S)));
        links.into_iter().for_each(|at| end.link_failed(LinkId::Tcp(at), "as the test has it"));
        assert!(!end.is_late(vc, Instant(31 * S)));
        pair.exchange();
        assert!(!pair.ends[0].is_late(vc, Instant(60 * S)) && pair.ends[0].is_late(vc, Instant(61 * S)));
        pair.ends[0].peers[vc].role = Role::Unconnected;
        pair.close();
        others.close();
    }
}
