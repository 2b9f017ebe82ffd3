//! The acknowledgement of received frames that is still to be sent: of how many frames, and when it is due.

use crate::channel::path::TimeRange;
use crate::time::{Instant, MaybeInstant};
use crate::wire::Urgency;

/// Delay of an acknowledgement for which a completion waits at the peer: a reply is likely to carry it by then.
const PROMPT_DELAY_NS: u64 = 15_000;
/// Delay of an acknowledgement for which nothing waits but the peer's record of frames in flight.
const LAZY_DELAY_NS: u64 = 2_000_000;
/// On a long path, the prompt delay is the round trip divided by this,
const PROMPT_PART: u64 = 64;
/// and the lazy delay the round trip divided by this.
const LAZY_PART: u64 = 4;
/// Bytes received after which an acknowledgement is sent at once.
const EVERY_BYTES: u64 = 512 << 10;
/// Frames received after which an acknowledgement is sent at once; bounds the peer's record.
const EVERY_FRAMES: u32 = 512;

/// Maximum delay of an acknowledgement that nothing waits for, over a path of that minimum round trip, in nanoseconds.
pub fn lazy_delay_ns(min_rtt_ns: u64) -> u64 {
    (min_rtt_ns / LAZY_PART).max(LAZY_DELAY_NS)
}

fn prompt_delay_ns(min_rtt_ns: u64) -> u64 {
    (min_rtt_ns / PROMPT_PART).max(PROMPT_DELAY_NS)
}

/// The acknowledgement fields of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// Number of frames received since the start, modulo 2^32.
    pub frames: u32,
    /// Time since the newest of them may have arrived, in microseconds.
    pub delay_us: u16,
}

/// Counts received and acknowledged frames, and knows when the next acknowledgement is due.
#[derive(Default)]
pub struct PendingAck {
    /// Frames received since the start, modulo 2^32.
    received: u32,
    /// The newest frame arrived at or after this.
    received_since: Instant,
    /// Frames acknowledged since the start, modulo 2^32.
    acknowledged: u32,
    /// Bytes of frames that are not acknowledged.
    bytes: u64,
    /// When the last pure acknowledgement was sent.
    last_pure: Instant,
    due: MaybeInstant,
}

impl PendingAck {
    /// A counted frame of `bytes` has arrived whole, over a path of that least round trip.
    pub fn received(&mut self, came: TimeRange, bytes: u64, urgency: Urgency, min_rtt_ns: u64) {
        let now = came.latest;
        self.received = self.received.wrapping_add(1);
        self.received_since = came.earliest;
        self.bytes += bytes;
        let many = self.received.wrapping_sub(self.acknowledged) >= EVERY_FRAMES || self.bytes >= EVERY_BYTES;
        let delay_ns = match (many, urgency) {
            (true, _) => 0,
            // One acknowledgement for all frames that come together, not one each.
            (false, Urgency::Immediate) => prompt_delay_ns(min_rtt_ns).saturating_sub(now.since_ns(self.last_pure)),
            (false, Urgency::Prompt) => prompt_delay_ns(min_rtt_ns),
            (false, Urgency::Lazy) => lazy_delay_ns(min_rtt_ns),
        };
        self.schedule_within(now, delay_ns);
    }

    /// [`PendingAck::received`] for shared memory: the driver acknowledges all frames but writes, which may be refused.
    pub fn received_in_memory(&mut self, now: Instant, urgency: Urgency) {
        self.received = self.received.wrapping_add(1);
        if urgency == Urgency::Immediate {
            self.schedule_now(now);
        }
    }

    /// Schedules an acknowledgement that is not urgent.
    pub fn schedule(&mut self, now: Instant) {
        self.schedule_within(now, LAZY_DELAY_NS);
    }

    /// Schedules an acknowledgement at once, as when the peer probes.
    pub fn schedule_now(&mut self, now: Instant) {
        self.schedule_within(now, 0);
    }

    fn schedule_within(&mut self, now: Instant, delay_ns: u64) {
        let due = now.plus_ns(delay_ns);
        self.due = Some(self.due.get().map_or(due, |earlier| earlier.min(due))).into();
    }

    /// The frames to acknowledge now; no acknowledgement is due thereafter.
    pub fn take(&mut self, now: Instant) -> AckFields {
        let delay_us = now.since_ns(self.received_since) / 1000;
        self.acknowledged = self.received;
        self.bytes = 0;
        self.clear();
        AckFields { frames: self.received, delay_us: delay_us.min(u64::from(u16::MAX)) as u16 }
    }

    /// State at the last acknowledgement sent.
    pub fn last(&self) -> AckFields {
        AckFields { frames: self.acknowledged, delay_us: 0 }
    }

    /// A pure acknowledgement is sent.
    pub fn pure_sent(&mut self, now: Instant) {
        self.last_pure = now;
    }

    /// When a pure acknowledgement must be sent, if nothing carries it before.
    pub fn due(&self) -> Option<Instant> {
        self.due.get()
    }

    /// No acknowledgement is due any more.
    pub fn clear(&mut self) {
        self.due = None.into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Subchannel;
    use super::*;
    use crate::ids::RailId;

    #[test]
    fn a_prompt_frame_hastens_the_acknowledgement_and_a_reply_pays_it() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        subchannel.received(Instant(0), 10, Urgency::Lazy);
        assert_eq!(subchannel.ack_due(), Some(Instant(LAZY_DELAY_NS)));
        subchannel.received(Instant(5), 10, Urgency::Prompt);
        assert_eq!(subchannel.ack_due(), Some(Instant(5 + PROMPT_DELAY_NS)));
        assert_eq!(subchannel.take_ack(Instant(3005)), AckFields { frames: 2, delay_us: 3 });
        assert_eq!(subchannel.ack_due(), None);
        subchannel.received(Instant(9), EVERY_BYTES, Urgency::Lazy);
        assert_eq!(subchannel.ack_due(), Some(Instant(9)));
    }

    #[test]
    fn an_immediate_frame_is_acknowledged_at_once_and_those_close_behind_it_together() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        let start = Instant(1_000_000);
        subchannel.received(start, 10, Urgency::Immediate);
        assert_eq!(subchannel.ack_due(), Some(start));
        subchannel.pending_ack.pure_sent(start);
        assert_eq!(subchannel.take_ack(start), AckFields { frames: 1, delay_us: 0 });
        for after_ns in [1, 2] {
            subchannel.received(start.plus_ns(after_ns), 10, Urgency::Immediate);
            assert_eq!(subchannel.ack_due(), Some(start.plus_ns(PROMPT_DELAY_NS)));
        }
        subchannel.take_ack(start.plus_ns(3));
        // An acknowledgement in another frame does not count: no pure one was sent.
        let later = start.plus_ns(PROMPT_DELAY_NS);
        subchannel.received(later, 10, Urgency::Immediate);
        assert_eq!(subchannel.ack_due(), Some(later));
    }
}
