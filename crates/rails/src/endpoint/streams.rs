//! Additional streams: a rail gets more connections to a peer while others carry, and lets them go.
//!
//! Whoever sends knows whether one is enough. So each side sets up what it needs, whoever set up the first ones, and lets go
//! only of what it has set up. It stops sending over such a connection, and says so (LEAVE); so does the other side. Once
//! everything is acknowledged both ways, it shuts the connection.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Shutdown};

use fishplate_engine::wire::Body;
use fishplate_engine::{Instant, Payload, RailId, Source, VcId};

use super::Endpoint;
use crate::connect::outgoing::Attempt;
use crate::link::{FIRST_ADDITIONAL, Link};
use crate::streams::{Growth, MOST_STREAMS, Sample, Streams};

/// The streams between a rail and one address of a peer.
pub struct Bundle {
    vc: VcId,
    rail: RailId,
    remote: IpAddr,
    growth: Growth,
}

impl Bundle {
    /// Whether it leads to this peer.
    pub fn is_to(&self, vc: VcId) -> bool {
        self.vc == vc
    }

    fn has(&self, link: &Link) -> bool {
        (link.subchannel.vc, link.rail, link.remote.ip()) == (self.vc, self.rail, self.remote)
    }

    fn is_tried_by(&self, attempt: &Attempt) -> bool {
        let (vc, rail) = (attempt.vc, RailId(attempt.rail));
        attempt.is_additional() && (vc, rail, attempt.remote.ip()) == (self.vc, self.rail, self.remote)
    }
}

impl Endpoint {
    /// From now on the streams over which link `at` runs are looked after, if the user lets them grow.
    pub(super) fn look_after_streams_of(&mut self, at: usize) {
        let Streams::Automatic { most } = self.settings.streams else { return };
        let link = &self.links[at];
        if !self.bundles.iter().any(|bundle| bundle.has(link)) {
            let (vc, rail, remote) = (link.subchannel.vc, link.rail, link.remote.ip());
            self.bundles.push(Bundle { vc, rail, remote, growth: Growth::new(most) });
        }
    }

    /// Sets up streams and lets them go, as what was sampled suggests.
    pub(super) fn adjust_streams(&mut self, now: Instant) {
        for at in 0..self.bundles.len() {
            let Some(sample) = self.sample_streams(at, now) else { continue };
            match self.bundles[at].growth.decide(&sample) {
                Some(wanted) if wanted > sample.streams => self.set_up_more(at, wanted - sample.streams, now),
                Some(wanted) => self.let_go_of(at, sample.streams - wanted, now),
                None => {}
            }
        }
        self.go_on_leaving();
    }

    fn sample_streams(&self, at: usize, now: Instant) -> Option<Sample> {
        let bundle = &self.bundles[at];
        let mut sample = Sample {
            now,
            streams: 0,
            is_changing: self.attempts.iter().any(|(_, attempt)| bundle.is_tried_by(attempt)),
            is_wanted: false,
            is_limited: false,
            acknowledged: 0,
            min_rtt_ns: u64::MAX,
            speed: self.rails[usize::from(bundle.rail.0)].speed,
        };
        let mut limited = 0;
        let links = self.peers[bundle.vc.0 as usize].links.iter().flatten().map(|link| &self.links[*link]);
        for link in links.filter(|link| bundle.has(link)) {
            if link.farewell.has_begun() {
                sample.is_changing = true;
                continue;
            }
            sample.streams += 1;
            sample.is_wanted |= link.blocked || link.sampled.unsent_bytes > 0;
            limited += u8::from(link.is_limited);
            sample.acknowledged += link.sampled.acknowledged_bytes;
            sample.min_rtt_ns = sample.min_rtt_ns.min(link.sampled.min_rtt_ns);
        }
        sample.is_limited = limited * 2 >= sample.streams;
        (sample.streams > 0).then_some(sample)
    }

    /// Starts to set up `count` more streams.
    fn set_up_more(&mut self, at: usize, count: u8, now: Instant) {
        let bundle = &mut self.bundles[at];
        let (vc, rail) = (bundle.vc, bundle.rail);
        let peer = &self.peers[vc.0 as usize];
        let Some(port) = peer.address.as_ref().map(|address| address.port) else {
            return bundle.growth.failed(now);
        };
        let remote = (bundle.remote, port).into();
        let links = peer.links.iter().flatten().map(|link| &self.links[*link]);
        let own = links.filter(|link| link.line.is_additional() && !link.line.by_peer && link.line.rail == rail.0);
        let mut taken: Vec<u8> = own.map(|link| link.line.stream).collect();
        for _ in 0..count {
            let Some(stream) = (FIRST_ADDITIONAL..=u8::MAX).find(|stream| !taken.contains(stream)) else { return };
            taken.push(stream);
            self.attempts.insert(Attempt::new(vc, rail.0, stream, remote, now));
        }
        let name = &self.rails[usize::from(rail.0)].name;
        log::info!("rail {name} to {remote}: {count} more connections, as one does not fill the path");
    }

    /// An additional stream could not be set up: it is not tried again soon.
    pub(super) fn additional_failed(&mut self, at: usize, now: Instant) {
        let attempt = self.attempts.remove(at);
        let tried = self.bundles.iter_mut().find(|bundle| bundle.is_tried_by(&attempt));
        tried.into_iter().for_each(|bundle| bundle.growth.failed(now));
    }

    /// Whether the peer may set up another stream over the way that a connection of its takes.
    pub(super) fn takes_additional(&self, vc: VcId, rail: RailId, remote: IpAddr) -> bool {
        let peer = &self.peers[vc.0 as usize];
        let links = peer.links.iter().flatten().map(|link| &self.links[*link]);
        let same = links.filter(|link| (link.rail, link.remote.ip()) == (rail, remote)).count();
        peer.is_connected() && !peer.is_closing && same < usize::from(MOST_STREAMS)
    }

    /// Begins to let go of `count` streams that this side has set up.
    pub(super) fn let_go_of(&mut self, at: usize, count: u8, now: Instant) {
        let bundle = &self.bundles[at];
        let links = self.peers[bundle.vc.0 as usize].links.iter().flatten().copied();
        let own = links.filter(|at| {
            let link = &self.links[*at];
            bundle.has(link) && link.line.is_additional() && !link.line.by_peer && !link.farewell.has_begun()
        });
        let chosen: Vec<usize> = own.take(usize::from(count)).collect();
        for at in chosen {
            let link = &self.links[at];
            log::info!("rail {}: a connection to {} is let go", self.rails[usize::from(link.rail.0)].name, link.remote);
            self.leave(at, now);
        }
    }

    /// Sends nothing but acknowledgements over a link any more, and says so, unless nothing else connects the peer.
    fn leave(&mut self, at: usize, now: Instant) {
        let link = &mut self.links[at];
        if !self.engine.retire(link.subchannel) {
            return;
        }
        link.farewell.said = true;
        let header = self.engine.bare_header(now, link.subchannel, Body::Leave);
        let nothing = Source::User(Payload::EMPTY);
        link.transmit.push(&header, &nothing, false, &self.memory, &self.bounces);
        if !link.dirty {
            link.dirty = true;
            self.dirty.push(at);
        }
    }

    /// Answers those that let a link go, and shuts what is drained.
    fn go_on_leaving(&mut self) {
        let leaving = self.links.iter().filter(|(_, link)| link.farewell.has_begun() && !link.farewell.is_shut);
        let leaving: Vec<usize> = leaving.map(|(at, _)| at).collect();
        for at in leaving {
            let link = &mut self.links[at];
            if !link.farewell.said {
                let now = self.clock.now();
                self.leave(at, now);
                continue;
            }
            let is_drained = self.engine.is_drained(link.subchannel) && link.transmit.is_empty();
            if link.farewell.heard && !link.line.by_peer && is_drained {
                link.farewell.is_shut = true;
                let _ = link.socket.shutdown(Shutdown::Write);
            }
        }
    }
}
