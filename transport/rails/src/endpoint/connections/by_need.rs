//! Connections by need: in a large job, a peer is connected over one rail when it is first used, and over the others once its
//! traffic pays for them.
//!
//! A connection costs both hosts a few hundred microseconds, a file descriptor and some 10 KiB each. That is nothing in a small
//! job, where all are set up at once, but most of the start of a large one, whose ranks send little to most others.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use fishplate_engine::{Instant, RailId, SILENCE_NS, VcId};

use crate::connect::outgoing::Attempt;
use crate::discover::Class;
use crate::endpoint::Endpoint;
use crate::endpoint::peer::Role;
use crate::link_name::FIRST_ADDITIONAL;
use crate::pairing::Pair;
use crate::process;

/// Number of peers up to which a job is small. The connections to all of them take a rank some milliseconds.
const FEW_PEERS: u32 = 16;
/// Bytes that are worth a further connection: a rail of 1 Gbit/s takes as long for them as the connection costs.
const PAYS_FROM: u64 = 16 << 10;
/// Short messages with [`PAYS_FROM`] bytes in all within this time, in nanoseconds, are worth one too.
const PAYS_WITHIN_NS: u64 = 5_000_000;
/// A rail counts as near as the nearest one if its round trip is at most the nearest's times this, plus [`NEAR_SLACK_NS`].
const NEAR_FACTOR: u64 = 2;
/// The part of a round trip that processors add, in nanoseconds.
const NEAR_SLACK_NS: u64 = 100_000;

/// Whether peers get their connections by need: where they are many, and there are rails to choose from.
pub fn connects_by_need(rails: usize) -> bool {
    rails > 1 && process::connected_ranks().is_some_and(|peers| peers > FEW_PEERS)
}

impl Endpoint {
    /// Whether a peer is to have a single connection for now.
    pub(in crate::endpoint) fn is_sparing(&self, vc: VcId) -> bool {
        self.links.tcp.files.is_short() || (self.attempts.by_need && !self.peers[vc].is_widened)
    }

    /// A message of `len` bytes goes to, or comes from, a peer.
    #[inline]
    pub(in crate::endpoint) fn widen_for(&mut self, vc: VcId, len: u64, now: Instant) {
        if self.attempts.by_need && len >= PAYS_FROM {
            self.widen(vc, now);
        }
    }

    /// Widens by the bytes that a link has carried since the last call.
    pub(in crate::endpoint) fn widen_by_use(&mut self, at: usize, now: Instant) {
        let link = &mut self.links.tcp[at];
        let carried = link.transmit.taken() + link.common.counts.rx_bytes;
        let (before, since) = std::mem::replace(&mut link.use_seen, (carried, now));
        let times = (carried - before) / PAYS_FROM;
        if times > 0 && times >= now.since_ns(since) / PAYS_WITHIN_NS {
            let vc = link.common.subchannel.vc;
            self.widen(vc, now);
        }
    }

    /// The peer's kernel has been silent for `silent_ns` over what may be the only connection.
    pub(in crate::endpoint) fn widen_if_silent(&mut self, vc: VcId, silent_ns: u64, now: Instant) {
        if self.attempts.by_need && silent_ns >= SILENCE_NS {
            self.widen(vc, now);
        }
    }

    /// Connects a peer over all rails that lead to it and do not carry yet.
    #[cold]
    fn widen(&mut self, vc: VcId, now: Instant) {
        let peer = &mut self.peers[vc];
        if peer.is_widened || self.links.tcp.files.is_short() || now < peer.widen_after {
            return;
        }
        let is_local = |remote: IpAddr| self.host.has(remote);
        if peer.is_closing || peer.known_paths.iter().any(|way| is_local(way.remote)) {
            return;
        }
        if peer.role == Role::Acceptor && peer.address.is_none() {
            return;
        }
        peer.is_widened = true;
        match peer.role {
            Role::Initiator => _ = self.begin_attempts(vc, now),
            Role::Acceptor => self.add_ways(vc, now),
            // The next attempt to connect will check `is_sparing`.
            Role::Unconnected | Role::Itself | Role::Lost => return,
        }
        self.start_attempts(now);
    }

    /// Adds connections over other rails to a peer that has set up the first one.
    fn add_ways(&mut self, vc: VcId, now: Instant) {
        let Some(address) = self.peers[vc].address.as_ref() else { return };
        let (pairs, port) = (self.ways(vc, Class::Rail), address.port);
        for Pair { local, remotes } in pairs {
            let rail = RailId(local as u8);
            let Some(remote) = remotes.first().filter(|_| !self.leads_over(vc, rail, Class::Rail)) else { continue };
            let remote = self.host.rails[local].at(*remote, port);
            self.attempts.insert(Attempt::new(vc, rail, FIRST_ADDITIONAL, remote, now));
        }
    }

    /// Whether a connection to a peer is there over a way of a class that a rail has, or is being set up.
    pub(in crate::endpoint) fn leads_over(&self, vc: VcId, rail: RailId, class: Class) -> bool {
        let mut links = self.links.tcp.of_peer(&self.peers[vc]);
        self.attempts.are_of_class(vc, rail, class)
            || links.any(|(_, link)| (link.common.rail, link.class) == (rail, class))
    }

    /// Numbers of the streams of each rail, with which a peer is connected at first.
    pub(in crate::endpoint) fn first_streams(&self, most: usize) -> RangeInclusive<u8> {
        let streams = usize::from(self.settings.streams.first()).min(most) as u8;
        if self.links.tcp.files.is_short() { 0..=0 } else { 0..=streams.max(1) - 1 }
    }

    /// Keeps one of the ways to a peer: that over the nearest rail, and of equally near rails the one with the fewest connections.
    /// Keeps all once that rail has failed.
    pub(in crate::endpoint) fn keep_one_way(&self, vc: VcId, pairs: &mut Vec<Pair>) {
        let has_failed = !self.peers[vc].known_paths.is_empty() || self.attempts.are_to(vc);
        if has_failed {
            return;
        }
        let rail = |at: usize| RailId(at as u8);
        let known: Vec<Option<u64>> = (0..self.host.rails.len()).map(|at| self.round_trip(rail(at))).collect();
        let nearest = pairs.iter().filter_map(|pair| known[pair.local]).min().unwrap_or(0);
        let is_far = |at: usize| known[at].is_some_and(|rtt_ns| rtt_ns > nearest * NEAR_FACTOR + NEAR_SLACK_NS);
        pairs.sort_by_key(|pair| {
            let rail = rail(pair.local);
            (self.is_failing(rail), is_far(pair.local), self.connections_over(rail))
        });
        pairs.truncate(1);
    }

    /// Minimum round trip over a rail of all its connections, in nanoseconds.
    fn round_trip(&self, rail: RailId) -> Option<u64> {
        self.links.tcp.over(rail).map(|link| link.sampled.min_rtt_ns).filter(|rtt_ns| *rtt_ns > 0).min()
    }

    /// Whether connections over a rail have failed, and none is up.
    fn is_failing(&self, rail: RailId) -> bool {
        self.peers.iter().any(|peer| peer.has_lost_link(rail)) && self.links.tcp.over(rail).next().is_none()
    }

    fn connections_over(&self, rail: RailId) -> usize {
        self.links.tcp.over(rail).count() + self.attempts.count_over(rail)
    }

    /// Connects peers with a single attempt over all rails if it is not answered soon: its rail may lead nowhere.
    pub(in crate::endpoint) fn service_slow_ways(&mut self, now: Instant) {
        if !self.attempts.by_need {
            return;
        }
        let is_slow = |attempt: &&Attempt| {
            let peer = &self.peers[attempt.vc];
            !attempt.is_taken()
                && !attempt.waits_for_file()
                && !peer.is_connected()
                && now.since_ns(peer.since) >= SILENCE_NS
        };
        let slow = self.attempts.iter().map(|(_, attempt)| attempt).filter(is_slow);
        let slow: BTreeSet<VcId> = slow.map(|attempt| attempt.vc).collect();
        slow.into_iter().for_each(|vc| self.try_other_ways(vc, now));
    }

    /// The only way to a peer that is in use has failed: others are tried beside it.
    pub(in crate::endpoint) fn try_other_ways(&mut self, vc: VcId, now: Instant) {
        if self.is_sparing(vc) && self.peers[vc].role == Role::Initiator {
            self.begin_attempts(vc, now);
        }
    }

    /// An added connection could not be set up, or has failed: it is added again after a while if traffic pays for it then.
    pub(in crate::endpoint) fn lost_added_way(&mut self, vc: VcId, rail: RailId, now: Instant) {
        if self.attempts.by_need {
            let peer = &mut self.peers[vc];
            let pause_ns = peer.flap_damping(rail).failed(now);
            peer.is_widened = false;
            peer.widen_after = now.plus_ns(pause_ns);
        }
    }
}
