//! Peers to which no rail leads at present. Routes, addresses and carriers may still come.

use fishplate_engine::{Instant, VcId};

use crate::address::Address;
use crate::discover::{Class, Network};
use crate::endpoint::Endpoint;

/// Time between two searches for a way, in nanoseconds: a search takes some system calls for each pair of addresses.
const POLL_INTERVAL_NS: u64 = 100_000_000;

#[derive(Debug, Default)]
pub struct SeekingPeers {
    /// Each with the number of ways that the last look has found. Ways come one after the other: connections begin once a look finds no
    /// further ones.
    peers: Vec<(VcId, usize)>,
    next_look: Instant,
}

impl Endpoint {
    /// No rail leads to the peer: warns, and looks again until the timeout. An error at once where no way can come.
    pub(in crate::endpoint) fn seek(&mut self, vc: VcId, now: Instant) {
        let peer = &self.peers[vc];
        let Some(address) = &peer.address else { return };
        let why = if let Some(why) = self.host.no_way_out() {
            Some(format!("{} is unreachable: {why}", peer.describe()))
        } else if address.rails.iter().all(Vec::is_empty) {
            Some(self.out_of_reach(vc, "it is on another host, and has no interface that leads out of there"))
        } else {
            None
        };
        if let Some(why) = why {
            return self.lose_peer(vc, &why);
        }
        let (peer, seconds, others) = (peer.describe(), self.patience(vc).as_secs(), self.host.left_out());
        // This side does not know all addresses of the peer, which mostly connects itself.
        let level = if address.has_more { log::Level::Debug } else { log::Level::Warn };
        log::log!(
            level,
            "waits for the network, up to {seconds} s: no rail of this node has a route to {peer}; {others}"
        );
        self.attempts.seeking.peers.push((vc, 0));
        self.attempts.seeking.next_look = now.plus_ns(POLL_INTERVAL_NS);
    }

    /// The user names a peer: connections in its name must prove its token from now on. It is connected at once if it could not connect
    /// itself: it knows only some of this endpoint's addresses, and this endpoint knows a way.
    pub fn meet(&mut self, address: &Address) {
        self.acquaint(address);
        let Some(listed) = &self.identity.listed else { return };
        let theirs = || address.rails.iter().flatten();
        let reaches = |own: &Network| theirs().any(|ip| own.contains(*ip));
        let is_listed = |own: &Network| listed.rails.iter().flatten().any(|ip| *ip == own.ip);
        let own = || self.host.rails.iter().flat_map(|rail| &rail.addresses).filter(|own| reaches(own));
        if own().next().is_none() || own().any(is_listed) {
            return;
        }
        let vc = self.peer(address);
        if self.peers[vc].is_unconnected() {
            self.connect(vc, self.clock.now());
        }
    }

    /// SocketPolls for ways to peers without any.
    pub(in crate::endpoint) fn service_seeking(&mut self, now: Instant) {
        if self.attempts.seeking.peers.is_empty() || now < self.attempts.seeking.next_look {
            return;
        }
        self.attempts.seeking.next_look = now.plus_ns(POLL_INTERVAL_NS);
        self.host.refresh(&self.settings.rails);
        for (vc, before) in std::mem::take(&mut self.attempts.seeking.peers) {
            let peer = &self.peers[vc];
            if !peer.is_sought() {
                continue;
            }
            let ways = Class::ALL.into_iter().map(|class| self.ways(vc, class).len()).sum();
            self.set_reach(vc, Class::Rail, now);
            if ways > 0 && ways == before && self.begin_attempts(vc, now) {
                continue;
            }
            if ways > 0 || !self.is_late(vc, now) {
                self.attempts.seeking.peers.push((vc, ways));
                continue;
            }
            self.lose_peer(vc, &self.out_of_reach(vc, &self.host.routeless()));
        }
    }

    /// Message that a peer is out of reach, for the reason `why`, with the interfaces that are no rails.
    pub(in crate::endpoint) fn out_of_reach(&self, vc: VcId, why: &str) -> String {
        format!("{} is unreachable: {why}; {}", self.peers[vc].describe(), self.host.left_out())
    }
}
