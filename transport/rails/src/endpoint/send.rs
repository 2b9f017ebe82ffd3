//! The send path: frames of the engine go to links of any kind, and from there to the peers.
//!
//! Called by the progress loop, by `post` and, while the application is not in MPI, by the progress thread.

use fishplate_engine::{Instant, Payload};

use super::Endpoint;
use crate::ablation::Mechanism;

/// Bytes that a link takes from the engine at a time: enough for an efficient system call, and no more, as they are bound to the
/// rail.
pub const BUDGET: u64 = 256 << 10;
/// Rounds of sending in one call of the endpoint, at most, so that one busy peer does not keep the user waiting.
const MAX_ROUNDS: usize = 8;

impl Endpoint {
    /// Sends frames of the engine as far as the links take them. True if there were any.
    #[inline]
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let has_nothing =
            !self.engine.may_transmit() && !self.links.tcp.has_dirty() && !self.engine.has_memory_actions();
        if has_nothing {
            self.links.memory.ring_bells(false);
            return false;
        }
        self.pump_all(now)
    }

    fn pump_all(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MAX_ROUNDS {
            while let Some(transmit) = self.engine.poll_transmit(now) {
                if let Some(link) = self.link_of(transmit.subchannel) {
                    moved |= self.enqueue(link, &transmit, now);
                }
            }
            self.apply_memory_actions();
            if !self.flush_dirty_links(now) {
                break;
            }
            moved = true;
        }
        self.links.memory.ring_bells(false);
        moved
    }

    /// Completes sends whose bytes the kernel has taken. Not while frames wait in this process: they need calls of the user, who may
    /// not call any more once all sends have completed.
    pub(super) fn buffer_sends(&mut self, now: Instant) -> bool {
        let links = &self.links;
        let waits = || links.iter().any(|(_, link)| link.has_waiting());
        let is_off = self.settings.ablation.is_off(Mechanism::BufferedSends);
        if is_off || !self.engine.has_buffer_candidates() || waits() {
            return false;
        }
        let is_lent = |payload: &Payload| links.iter().any(|(_, link)| link.has_lent(payload));
        if !self.engine.buffer_sends(now, is_lent) {
            return false;
        }
        self.apply_memory_actions();
        true
    }
}
