//! Parallel streams: a rail gets additional connections to a peer while others carry, and retires them.
//!
//! The sender knows whether one stream is enough. So each side sets up the streams that it needs, whichever side set up the first
//! one, and retires only its own.
//!
//! Bonds and fabrics distribute flows by their ports, mostly by the low bits of both. So the ports of additional streams are chosen
//! to differ in these bits from each other and from that of the first stream.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::net::IpAddr;
use std::ops::Range;

use fishplate_engine::limits::{MAX_STREAMS, MAX_TO_A_PEER};
use fishplate_engine::policy::RATE_ERROR;
use fishplate_engine::wire::Body;
use fishplate_engine::{Instant, PADDING_SEGMENT, PathEstimate, RailId, VcId};
use fishplate_link_core::random;
use slab::Slab;

use crate::ablation::Mechanism;
use crate::connect::outgoing::Attempt;
use crate::endpoint::Endpoint;
use crate::endpoint::tcp::{TcpLinks, over};
use crate::link::{NEAR_RTT_NS, StreamLink};
use crate::link_name::{ASKS, FIRST_ADDITIONAL};
use crate::streams::{Estimate, Filling, Sample, StreamCount, Streams};
use crate::sys::interface::Counters;

/// Range of local ports: the kernel's default one (ip_local_port_range).
const PORTS: Range<u16> = 32_768..60_992;
/// Even ports only, as kernels give even ports to connecting sockets, and odd ones to others.
const PORT_STEP: u16 = 2;
/// Size of a block of ports that all differ in their low bits.
const PORTS_APART: u16 = MAX_STREAMS as u16 * PORT_STEP;

/// Streams of a rail, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamsOfRail {
    /// Greatest number to one peer.
    pub streams: usize,
    /// Whether more streams carry more.
    pub estimate: Estimate,
}

/// Padding in flight over all streams of a group together: the bytes of this time, in nanoseconds, as a process needs time to
/// answer, and of [`PATHS_FILLED`] round trips, as BBR's window.
const FILLED_NS: u64 = 1_000_000;
const PATHS_FILLED: u64 = 2;
/// Segments of padding in flight over each stream, at least.
const MIN_FILLED: f64 = 2.0;

/// The streams between a rail and one address of a peer.
pub struct StreamGroup {
    vc: VcId,
    rail: RailId,
    remote: IpAddr,
    stream_count: StreamCount,
    /// Which of its streams carry padding.
    filling: Filling,
}

impl StreamGroup {
    /// Whether it leads to this peer.
    pub fn is_to(&self, vc: VcId) -> bool {
        self.vc == vc
    }

    fn has(&self, link: &StreamLink) -> bool {
        (link.common.subchannel.vc, link.common.rail, link.remote.ip()) == (self.vc, self.rail, self.remote)
    }

    fn is_tried_by(&self, attempt: &Attempt) -> bool {
        let (vc, rail) = (attempt.vc, attempt.rail);
        attempt.is_additional() && (vc, rail, attempt.remote.ip()) == (self.vc, self.rail, self.remote)
    }
}

impl Endpoint {
    /// Manages the number of streams beside link `at` from now on, if the setting is automatic.
    pub(in crate::endpoint) fn manage_streams_of(&mut self, at: usize) {
        let Streams::Automatic { most } = self.settings.streams else { return };
        let link = &self.links.tcp[at];
        let Some(group) = self.links.tcp.groups.iter().find(|group| group.has(link)) else {
            let (vc, rail, remote) = (link.common.subchannel.vc, link.common.rail, link.remote.ip());
            let (stream_count, filling) = (StreamCount::new(most), Filling::Nothing);
            self.links.tcp.groups.push(StreamGroup { vc, rail, remote, stream_count, filling });
            return;
        };
        let is_on_trial = link.name.by_peer || group.stream_count.filling() != Filling::Nothing;
        // The first connection over a rail may be an additional stream of the peer.
        let has_others = self.links_of(group).any(|other| !other.is_on_trial && other.name != link.name);
        if link.name.is_additional() && has_others && is_on_trial {
            self.set_on_trial(at, true);
        }
    }

    /// Sets whether a stream is on trial. It then stands by: the side that has set it up fills it with padding, the other side ends the
    /// trial with the first message over it.
    fn set_on_trial(&mut self, at: usize, is_on_trial: bool) {
        let link = &mut self.links.tcp[at];
        link.is_on_trial = is_on_trial;
        let vc = link.common.subchannel.vc;
        self.stand_by(vc);
    }

    /// Updates which streams of a group are filled with padding.
    fn fill_streams(&mut self, at: usize) {
        let filling = self.links.tcp.groups[at].stream_count.filling();
        if std::mem::replace(&mut self.links.tcp.groups[at].filling, filling) == filling {
            return;
        }
        let group = &self.links.tcp.groups[at];
        let is_filled = |link: &StreamLink| match filling {
            Filling::Nothing => false,
            Filling::Carrying => !link.is_on_trial,
            Filling::All => !(link.is_on_trial && link.name.by_peer),
        };
        let segments = |link: &StreamLink| {
            let path = self.engine.path(link.common.subchannel).filter(|_| !link.is_on_trial);
            let bytes_in = |path: PathEstimate, ns: u64| path.rate * ns as f64 / 1e9;
            let bytes = path.map_or(0.0, |path| bytes_in(path, FILLED_NS + PATHS_FILLED * path.min_rtt_ns));
            bytes / f64::from(PADDING_SEGMENT)
        };
        let least = self.links_of(group).count() as f64 * MIN_FILLED;
        let all = self.links_of(group).map(segments).sum::<f64>().max(least);
        let each = (all / self.links_of(group).filter(|link| is_filled(link)).count().max(1) as f64) as u16;
        let most = self.links_of(group).map(|link| (link.common.subchannel, if is_filled(link) { each } else { 0 }));
        let most: Vec<_> = most.collect();
        most.into_iter().for_each(|(subchannel, segments)| self.engine.fill_up_to(subchannel, segments));
    }

    /// A frame has come over a stream that is on trial. Anything but padding ends the peer's trial.
    pub(in crate::endpoint) fn received_on_trial(&mut self, at: usize, body: &Body) {
        let is_message = body.is_counted() && !matches!(body, Body::Padding { .. } | Body::Ping);
        if self.links.tcp[at].name.by_peer && is_message {
            self.set_on_trial(at, false);
        }
    }

    /// Ends the trial of this side's streams of a group: they carry messages from now on.
    fn end_trial(&mut self, at: usize) {
        let group = &self.links.tcp.groups[at];
        let links = self.links.tcp.of_peer(&self.peers[group.vc]);
        let is_own = |link: &StreamLink| {
            group.has(link) && link.is_on_trial && !link.name.by_peer && !link.retirement.has_begun()
        };
        let own: Vec<usize> = links.filter(|(_, link)| is_own(link)).map(|(at, _)| at).collect();
        own.into_iter().for_each(|at| self.set_on_trial(at, false));
    }

    /// Sets up and retires streams, depending on the samples.
    pub(in crate::endpoint) fn adjust_streams(&mut self, counters: &Counters, now: Instant) {
        if !self.links.tcp.groups.is_empty() && !self.settings.ablation.is_off(Mechanism::ParallelStreams) {
            self.adjust_stream_groups(counters, now);
        }
        self.links.tcp.service_retiring(&mut self.engine, now);
    }

    fn adjust_stream_groups(&mut self, counters: &Counters, now: Instant) {
        let is_filled = |group: &&StreamGroup| group.filling != Filling::Nothing;
        let mut on_trial: Vec<RailId> =
            self.links.tcp.groups.iter().filter(is_filled).map(|group| group.rail).collect();
        for at in 0..self.links.tcp.groups.len() {
            let may_try = !on_trial.contains(&self.links.tcp.groups[at].rail);
            let Some(sample) = self.sample_streams(at, may_try, now) else {
                if self.links.tcp.groups[at].filling != Filling::Nothing {
                    self.links.tcp.groups[at].stream_count.failed(0, now);
                    self.fill_streams(at);
                }
                continue;
            };
            let TcpLinks { groups, links, .. } = &mut self.links.tcp;
            let StreamGroup { rail, stream_count, .. } = &mut groups[at];
            let counted = self.host[*rail].counted_interface();
            let sent_bytes = || counted.and_then(|interface| counters.sent_bytes(interface));
            let port_bytes = || sent_bytes().unwrap_or_else(|| acknowledged_over(links, *rail));
            match stream_count.decide(&sample, port_bytes) {
                Some(wanted) if wanted > sample.streams => self.add_streams(at, wanted - sample.streams, now),
                Some(wanted) => self.retire_streams(at, sample.streams - wanted, now),
                None => {}
            }
            let was_filled = self.links.tcp.groups[at].filling != Filling::Nothing;
            self.fill_streams(at);
            match (was_filled, self.links.tcp.groups[at].filling) {
                (true, Filling::Nothing) => {
                    self.share_verdict(at);
                    self.end_trial(at);
                }
                (false, Filling::Carrying | Filling::All) => on_trial.push(self.links.tcp.groups[at].rail),
                _ => {}
            }
        }
    }

    /// Applies the result of a trial to the groups of other near peers over the rail, as the trial has measured the port.
    fn share_verdict(&mut self, at: usize) {
        let (rail, pause) = (self.links.tcp.groups[at].rail, self.links.tcp.groups[at].stream_count.pause());
        let is_near =
            |group: &StreamGroup| self.links_of(group).any(|link| self.least_round_trip_ns(link) <= NEAR_RTT_NS);
        let is_meant: Vec<bool> =
            self.links.tcp.groups.iter().map(|group| group.rail == rail && is_near(group)).collect();
        let meant = self.links.tcp.groups.iter_mut().zip(is_meant).filter(|(_, is_meant)| *is_meant);
        meant.for_each(|(group, _)| group.stream_count.wait_for(pause));
    }

    /// `may_try`: no streams over the rail are on trial.
    fn sample_streams(&self, at: usize, may_try: bool, now: Instant) -> Option<Sample> {
        let group = &self.links.tcp.groups[at];
        let mut sample = Sample {
            now,
            streams: 0,
            is_changing: self.attempts.iter().any(|(_, attempt)| group.is_tried_by(attempt)),
            has_backlog: false,
            acknowledged: 0,
            min_rtt_ns: u64::MAX,
            speed: self.host[group.rail].speed,
            may_try: may_try && self.carries_enough(group),
        };
        let has_backlog = self.engine.has_backlog(group.vc);
        for link in self.links_of(group) {
            if link.retirement.has_begun() {
                sample.is_changing = true;
                continue;
            }
            if link.is_on_trial && link.name.by_peer {
                continue;
            }
            sample.streams += 1;
            // Nothing is in flight to a peer that does not read.
            let is_waiting = has_backlog || link.blocked || link.sampled.unsent_bytes > 0;
            sample.has_backlog |= is_waiting && link.sampled.unacknowledged > 0;
            sample.acknowledged += link.sampled.acknowledged_bytes;
            sample.min_rtt_ns = sample.min_rtt_ns.min(self.least_round_trip_ns(link));
        }
        sample.has_backlog |= group.filling != Filling::Nothing;
        (sample.streams > 0).then_some(sample)
    }

    /// Minimum round trip of a link's path, in nanoseconds. The kernel may have seen only queued packets of this connection; the engine
    /// knows earlier connections too.
    fn least_round_trip_ns(&self, link: &StreamLink) -> u64 {
        let path_ns = self.engine.path(link.common.subchannel).map(|path| path.min_rtt_ns).filter(|ns| *ns > 0);
        path_ns.map_or(link.sampled.min_rtt_ns, |ns| ns.min(link.sampled.min_rtt_ns))
    }

    /// Whether a rail is fast enough against the peer's best one for messages to go over both. A trial over a slower one would only delay
    /// the short frames that go over it.
    fn carries_enough(&self, group: &StreamGroup) -> bool {
        let rate = |link: &StreamLink| self.engine.path(link.common.subchannel).map_or(0.0, |path| path.rate);
        let all = self.links.tcp.of_peer(&self.peers[group.vc]).map(|(_, link)| rate(link));
        let own: f64 = self.links_of(group).map(rate).sum();
        own >= all.fold(0.0, f64::max) * RATE_ERROR
    }

    /// The streams of a rail, for display.
    pub(in crate::endpoint) fn streams_of(&self, rail: RailId) -> StreamsOfRail {
        let to_each = self.peers.channels().map(|vc| self.links_over(vc, rail));
        let mut all = StreamsOfRail { streams: to_each.max().unwrap_or(0), estimate: Estimate::default() };
        for group in self.links.tcp.groups.iter().filter(|group| group.rail == rail) {
            let Estimate { flow, port } = group.stream_count.estimate();
            all.estimate.flow = greater(all.estimate.flow, flow);
            all.estimate.port = greater(all.estimate.port, port);
        }
        all
    }

    /// Starts to set up `count` more streams.
    pub(in crate::endpoint) fn add_streams(&mut self, at: usize, count: u8, now: Instant) {
        let group = &self.links.tcp.groups[at];
        let (vc, rail) = (group.vc, group.rail);
        let port = self.peers[vc].address.as_ref().map(|address| address.port);
        let Some(port) = port.filter(|_| self.has_room_for(vc, usize::from(count))) else {
            return self.set_up_failed(at, now);
        };
        let remote = self.host[rail].at(group.remote, port);
        let own = self.links_of(group).filter(|link| link.name.is_additional() && !link.name.by_peer);
        let mut taken: Vec<u8> = own.map(|link| link.name.stream).collect();
        let is_short = self.links_of(group).all(StreamLink::has_short_segments);
        // Ports of earlier streams may be blocked for a while.
        let chosen = u16::from_le_bytes(random().unwrap_or_default()) % (PORTS.len() as u16 / PORTS_APART);
        let ports = PORTS.start + chosen * PORTS_APART;
        // With this port a switch would send it the way of the first stream.
        let like_first = self.links_of(group).find(|link| !link.name.is_additional()).map_or(0, |link| {
            let local_port = link.socket.local_addr().map_or(0, |local| local.port());
            local_port ^ link.remote.port() ^ port
        });
        let class = self.links_of(group).map(|link| link.class).min().unwrap_or_default();
        for _ in 0..count {
            let Some(stream) = (FIRST_ADDITIONAL..ASKS).find(|stream| !taken.contains(stream)) else { return };
            taken.push(stream);
            let low = like_first.wrapping_add((u16::from(stream - FIRST_ADDITIONAL) + 1) * PORT_STEP);
            let local_port = ports + low % PORTS_APART;
            let attempt = Attempt::new(vc, rail, stream, remote, now).of_class(class).with_local_port(local_port);
            self.attempts.insert(attempt.with_short_segments(is_short));
        }
        let name = &self.host[rail].name;
        log::info!("rail {name} to {remote}: {count} more connections on trial");
    }

    /// An additional stream could not be set up: the next try is after a pause.
    pub(in crate::endpoint) fn additional_failed(&mut self, at: usize, now: Instant) {
        let attempt = self.attempts.remove(at);
        if self.links_over(attempt.vc, attempt.rail) == 0 {
            self.lost_added_way(attempt.vc, attempt.rail, now);
        }
        let Some(at) = self.links.tcp.groups.iter().position(|group| group.is_tried_by(&attempt)) else { return };
        if !self.attempts.iter().any(|(_, other)| self.links.tcp.groups[at].is_tried_by(other)) {
            self.set_up_failed(at, now);
        }
    }

    fn set_up_failed(&mut self, at: usize, now: Instant) {
        let streams = self.links_of(&self.links.tcp.groups[at]).count();
        self.links.tcp.groups[at].stream_count.failed(streams as u8, now);
    }

    fn links_of(&self, group: &StreamGroup) -> impl Iterator<Item = &StreamLink> {
        self.links.tcp.of_peer(&self.peers[group.vc]).map(|(_, link)| link).filter(|link| group.has(link))
    }

    /// Whether `count` more connections to a peer stay within the limits.
    fn has_room_for(&self, vc: VcId, count: usize) -> bool {
        let of_peer = self.links.tcp.of_peer(&self.peers[vc]).count() + count;
        let all = self.links.tcp.len() + self.attempts.len() + count;
        of_peer <= MAX_TO_A_PEER && self.links.tcp.files.has_room_for_streams(all)
    }

    /// Whether the peer may set up another stream beside one of its connections.
    pub(in crate::endpoint) fn accepts_additional(&self, vc: VcId, rail: RailId, remote: IpAddr) -> bool {
        let peer = &self.peers[vc];
        let links = self.links.tcp.of_peer(peer);
        let same = links.filter(|(_, link)| (link.common.rail, link.remote.ip()) == (rail, remote)).count();
        // With connections by need, either side adds rails; an attempt over this rail means that this side is adding it.
        let is_added = self.attempts.by_need && self.attempts.are_over(vc, rail);
        let is_wanted = peer.is_connected() && !peer.is_closing && !is_added;
        is_wanted && same < usize::from(MAX_STREAMS) && self.has_room_for(vc, 1)
    }

    /// Begins to retire `count` streams that this side has set up.
    pub(in crate::endpoint) fn retire_streams(&mut self, at: usize, count: u8, now: Instant) {
        let group = &self.links.tcp.groups[at];
        let links = self.links.tcp.of_peer(&self.peers[group.vc]);
        let own = links.filter(|(_, link)| {
            group.has(link) && link.name.is_additional() && !link.name.by_peer && !link.retirement.has_begun()
        });
        let mut own: Vec<usize> = own.map(|(at, _)| at).collect();
        // The ports of the first streams differ most for a switch: the last ones go first.
        own.sort_by_key(|at| {
            let link = &self.links.tcp[*at];
            Reverse((link.is_on_trial, link.name.stream))
        });
        own.truncate(usize::from(count));
        for at in own {
            let link = &self.links.tcp[at];
            log::info!(
                "rail {}: an additional connection to {} is closed",
                self.host[link.common.rail].name,
                link.remote
            );
            self.links.tcp.retire(at, &mut self.engine, now);
        }
    }
}

/// Bytes acknowledged on all links of a rail, to all peers.
fn acknowledged_over(links: &Slab<StreamLink>, rail: RailId) -> u64 {
    over(links, rail).map(|link| link.sampled.acknowledged_bytes).sum()
}

fn greater(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}
