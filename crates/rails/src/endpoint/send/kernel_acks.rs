//! What the peers' kernels have: it is asked for while long frames are under way.

use std::os::fd::AsFd;

use fishplate_engine::{Instant, Transmit};

use crate::endpoint::Endpoint;
use crate::sys::option::unacknowledged;

/// The kernel is asked about a link so often at most, in nanoseconds: what a system call costs is little of that, and a
/// link of 10 Gbit/s carries the shortest frame that is looked for in that time a dozen times.
const PERIOD_NS: u64 = 50_000;

impl Endpoint {
    /// A counted frame has been put into the stream of link `at`.
    pub(in crate::endpoint) fn look_for_delivery(&mut self, at: usize, transmit: &Transmit) {
        let link = &mut self.links[at];
        // Of an encrypted stream the kernel counts other bytes.
        if self.settings.encryption
            || !link.delivery.mark(link.departures.next(), transmit.source.len(), link.transmit.taken())
        {
            return;
        }
        if !std::mem::replace(&mut link.delivery.listed, true) {
            self.delivering.push(at);
        }
    }

    /// Tells the engine what the peers' kernels have.
    pub(in crate::endpoint) fn ask_for_deliveries(&mut self, now: Instant) {
        if self.delivering.is_empty() || now < self.next_deliveries {
            return;
        }
        self.next_deliveries = now.plus_ns(PERIOD_NS);
        let mut delivering = std::mem::take(&mut self.delivering);
        delivering.retain(|at| self.ask_for_delivery(*at, now));
        self.delivering = delivering;
    }

    /// The same of one link. Whether it has more under way.
    fn ask_for_delivery(&mut self, at: usize, now: Instant) -> bool {
        let Some(link) = self.links.get_mut(at) else { return false };
        let looked = std::mem::replace(&mut link.delivery.asked_at, now);
        let Ok(queued) = unacknowledged(link.socket.as_fd()) else { return false };
        let bytes = link.transmit.taken().saturating_sub(link.transmit.len() + u64::from(queued));
        if let Some(frames) = link.delivery.delivered(bytes) {
            self.engine.reached((looked, now), link.subchannel, frames);
        }
        link.delivery.listed = link.delivery.is_waiting();
        link.delivery.listed
    }
}
