//! Asks the kernel what the peers' kernels have acknowledged, while long frames are in flight.

use std::os::fd::AsFd;

use fishplate_engine::{Instant, Transmit};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;
use crate::sys::option::unacknowledged;

/// The kernel is asked about a link so often at most, in nanoseconds: what a system call costs is little of that, and a
/// link of 10 Gbit/s carries the shortest frame that is looked for in that time a dozen times.
const PERIOD_NS: u64 = 50_000;

impl Endpoint {
    /// A counted frame has been put into the stream of link `at`.
    pub(in crate::endpoint) fn track_kernel_ack(&mut self, at: usize, transmit: &Transmit) {
        let link = &mut self.links.streams[at];
        // Of an encrypted stream the kernel counts other bytes.
        if self.settings.encryption
            || self.settings.ablation.is_off(Mechanism::KernelAcknowledgements)
            || !link.kernel_acks.track(link.send_sequence.next(), transmit.source.len(), link.transmit.taken())
        {
            return;
        }
        if !std::mem::replace(&mut link.kernel_acks.listed, true) {
            self.awaiting_kernel_acks.push(at);
        }
    }

    /// Tells the engine what the peers' kernels have.
    #[inline]
    pub(in crate::endpoint) fn query_kernel_acks(&mut self, now: Instant) {
        if !self.awaiting_kernel_acks.is_empty() && now >= self.next_kernel_ack_query {
            self.query_all_kernel_acks(now);
        }
    }

    fn query_all_kernel_acks(&mut self, now: Instant) {
        self.next_kernel_ack_query = now.plus_ns(PERIOD_NS);
        let mut awaiting_kernel_acks = std::mem::take(&mut self.awaiting_kernel_acks);
        awaiting_kernel_acks.retain(|at| self.query_kernel_acks_of(*at, now));
        self.awaiting_kernel_acks = awaiting_kernel_acks;
    }

    /// The same of one link. Returns whether it has more in flight.
    fn query_kernel_acks_of(&mut self, at: usize, now: Instant) -> bool {
        let Some(link) = self.links.streams.get_mut(at) else { return false };
        // How much of what a thread has it has sent is not known.
        if link.transmit.is_lent() {
            return true;
        }
        let polled_before = std::mem::replace(&mut link.kernel_acks.queried_at, now);
        let Ok(queued) = unacknowledged(link.socket.as_fd()) else { return false };
        let bytes = link.transmit.taken().saturating_sub(link.transmit.len() + u64::from(queued));
        if let Some(frames) = link.kernel_acks.acknowledged(bytes) {
            self.engine.kernel_acknowledged((polled_before, now), link.common.subchannel, frames);
        }
        link.kernel_acks.listed = link.kernel_acks.is_waiting();
        link.kernel_acks.listed
    }
}
