//! Parallel streams: a rail gets additional connections to a peer while others carry, and retires them.
//!
//! The sender knows whether one is enough. So each side sets up what it needs, whoever set up the first ones, and retires
//! only what it has set up.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use fishplate_engine::limits::{MAX_STREAMS, MAX_TO_A_PEER};
use fishplate_engine::{Instant, RailId, VcId};

use crate::ablation::Mechanism;
use crate::connect::outgoing::Attempt;
use crate::endpoint::Endpoint;
use crate::link::StreamLink;
use crate::link_name::{ASKS, FIRST_ADDITIONAL};
use crate::streams::{Sample, StreamCount, Streams};

/// The streams between a rail and one address of a peer.
pub struct StreamGroup {
    vc: VcId,
    rail: RailId,
    remote: IpAddr,
    stream_count: StreamCount,
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
        let (vc, rail) = (attempt.vc, RailId(attempt.rail));
        attempt.is_additional() && (vc, rail, attempt.remote.ip()) == (self.vc, self.rail, self.remote)
    }
}

impl Endpoint {
    /// Manages the number of streams beside link `at` from now on, if the setting is automatic.
    pub(in crate::endpoint) fn manage_streams_of(&mut self, at: usize) {
        let Streams::Automatic { most } = self.settings.streams else { return };
        let link = &self.links.streams[at];
        if !self.stream_groups.iter().any(|group| group.has(link)) {
            let (vc, rail, remote) = (link.common.subchannel.vc, link.common.rail, link.remote.ip());
            self.stream_groups.push(StreamGroup { vc, rail, remote, stream_count: StreamCount::new(most) });
        }
    }

    /// Sets up and retires streams, depending on the samples.
    pub(in crate::endpoint) fn adjust_streams(&mut self, now: Instant) {
        if !self.stream_groups.is_empty() && !self.settings.ablation.is_off(Mechanism::StreamDoubling) {
            self.adjust_stream_groups(now);
        }
        self.service_retiring_links();
    }

    fn adjust_stream_groups(&mut self, now: Instant) {
        let mut acknowledged = vec![0; self.rails.len()];
        for (_, link) in &self.links.streams {
            acknowledged[usize::from(link.common.rail.0)] += link.sampled.acknowledged_bytes;
        }
        for at in 0..self.stream_groups.len() {
            let rail = usize::from(self.stream_groups[at].rail.0);
            let Some(sample) = self.sample_streams(at, acknowledged[rail], now) else { continue };
            match self.stream_groups[at].stream_count.decide(&sample) {
                Some(wanted) if wanted > sample.streams => self.add_streams(at, wanted - sample.streams, now),
                Some(wanted) => self.retire_streams(at, sample.streams - wanted, now),
                None => {}
            }
        }
    }

    fn sample_streams(&self, at: usize, rail_acknowledged: u64, now: Instant) -> Option<Sample> {
        let group = &self.stream_groups[at];
        let mut sample = Sample {
            now,
            streams: 0,
            is_changing: self.attempts.iter().any(|(_, attempt)| group.is_tried_by(attempt)),
            has_backlog: false,
            is_limited: false,
            acknowledged: 0,
            rail_acknowledged,
            min_rtt_ns: u64::MAX,
            speed: self.rails[usize::from(group.rail.0)].speed,
        };
        let mut limited = 0;
        for link in self.links_of(group) {
            if link.retirement.has_begun() {
                sample.is_changing = true;
                continue;
            }
            sample.streams += 1;
            sample.has_backlog |= link.blocked || link.sampled.unsent_bytes > 0;
            limited += u8::from(link.is_window_limited);
            sample.acknowledged += link.sampled.acknowledged_bytes;
            sample.min_rtt_ns = sample.min_rtt_ns.min(link.sampled.min_rtt_ns);
        }
        sample.is_limited = limited * 2 >= sample.streams;
        (sample.streams > 0).then_some(sample)
    }

    /// Starts to set up `count` more streams.
    pub(in crate::endpoint) fn add_streams(&mut self, at: usize, count: u8, now: Instant) {
        let group = &self.stream_groups[at];
        let (vc, rail) = (group.vc, group.rail);
        let port = self.peers[vc.0 as usize].address.as_ref().map(|address| address.port);
        let Some(port) = port.filter(|_| self.has_room_for(vc, usize::from(count))) else {
            return self.set_up_failed(at, now);
        };
        let remote = self.rails[usize::from(rail.0)].at(group.remote, port);
        let own = self.links_of(group).filter(|link| link.name.is_additional() && !link.name.by_peer);
        let mut taken: Vec<u8> = own.map(|link| link.name.stream).collect();
        let is_short = self.links_of(group).all(StreamLink::has_short_segments);
        for _ in 0..count {
            let Some(stream) = (FIRST_ADDITIONAL..ASKS).find(|stream| !taken.contains(stream)) else { return };
            taken.push(stream);
            self.attempts.insert(Attempt::new(vc, rail.0, stream, remote, now).with_short_segments(is_short));
        }
        let name = &self.rails[usize::from(rail.0)].name;
        log::info!("rail {name} to {remote}: {count} more connections, as one does not fill the path");
    }

    /// An additional stream could not be set up: it is not tried again soon.
    pub(in crate::endpoint) fn additional_failed(&mut self, at: usize, now: Instant) {
        let attempt = self.attempts.remove(at);
        let Some(at) = self.stream_groups.iter().position(|group| group.is_tried_by(&attempt)) else { return };
        if !self.attempts.iter().any(|(_, other)| self.stream_groups[at].is_tried_by(other)) {
            self.set_up_failed(at, now);
        }
    }

    fn set_up_failed(&mut self, at: usize, now: Instant) {
        let streams = self.links_of(&self.stream_groups[at]).count();
        self.stream_groups[at].stream_count.failed(streams as u8, now);
    }

    fn links_of(&self, group: &StreamGroup) -> impl Iterator<Item = &StreamLink> {
        let links = self.peers[group.vc.0 as usize].streams();
        links.map(|at| &self.links.streams[at]).filter(|link| group.has(link))
    }

    /// Whether so many more connections to a peer stay within the limits.
    fn has_room_for(&self, vc: VcId, count: usize) -> bool {
        let of_peer = self.peers[vc.0 as usize].streams().count() + count;
        let all = self.links.streams.len() + self.attempts.len() + count;
        of_peer <= MAX_TO_A_PEER && self.files.has_room_for_streams(all)
    }

    /// Whether the peer may set up another stream beside a connection of its.
    pub(in crate::endpoint) fn accepts_additional(&self, vc: VcId, rail: RailId, remote: IpAddr) -> bool {
        let peer = &self.peers[vc.0 as usize];
        let links = peer.streams().map(|at| &self.links.streams[at]);
        let same = links.filter(|link| (link.common.rail, link.remote.ip()) == (rail, remote)).count();
        let is_wanted = peer.is_connected() && !peer.is_closing;
        is_wanted && same < usize::from(MAX_STREAMS) && self.has_room_for(vc, 1)
    }

    /// Begins to retire `count` streams that this side has set up.
    pub(in crate::endpoint) fn retire_streams(&mut self, at: usize, count: u8, now: Instant) {
        let group = &self.stream_groups[at];
        let links = self.peers[group.vc.0 as usize].streams();
        let own = links.filter(|at| {
            let link = &self.links.streams[*at];
            group.has(link) && link.name.is_additional() && !link.name.by_peer && !link.retirement.has_begun()
        });
        let chosen: Vec<usize> = own.take(usize::from(count)).collect();
        for at in chosen {
            let link = &self.links.streams[at];
            log::info!(
                "rail {}: a connection to {} is let go",
                self.rails[usize::from(link.common.rail.0)].name,
                link.remote
            );
            self.retire_link(at, now);
        }
    }
}
