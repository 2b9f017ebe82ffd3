//! The acknowledgement that a subchannel owes its peer: of how many frames, and until when.

use crate::channel::path::TimeRange;
use crate::time::{Instant, MaybeInstant};
use crate::wire::Urgency;

/// Delay of an acknowledgement for which a completion waits at the peer: a reply is likely to carry it by then.
const PROMPT_DELAY_NS: u64 = 15_000;
/// Delay of an acknowledgement for which nothing waits but the peer's record of frames in flight.
const LAZY_DELAY_NS: u64 = 2_000_000;
/// On a long path, the former is this part of the round trip,
const PROMPT_PART: u64 = 64;
/// and the latter this part.
const LAZY_PART: u64 = 4;
/// Bytes received after which an acknowledgement is sent at once.
const EVERY_BYTES: u64 = 512 << 10;
/// Frames received after which an acknowledgement is sent at once; bounds the peer's record.
const EVERY_FRAMES: u32 = 512;

/// For how long a peer may hold an acknowledgement for which nothing waits, over a path of that least round trip.
pub fn lazy_delay_ns(min_rtt_ns: u64) -> u64 {
    (min_rtt_ns / LAZY_PART).max(LAZY_DELAY_NS)
}

fn prompt_delay_ns(min_rtt_ns: u64) -> u64 {
    (min_rtt_ns / PROMPT_PART).max(PROMPT_DELAY_NS)
}

/// What a header says of the frames that have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// How many in all, modulo 2^32.
    pub frames: u32,
    /// For how long the acknowledgement of the newest may have been held, in microseconds.
    pub delay_us: u16,
}

/// Which frames have come, which of them are acknowledged, and when the others must be.
#[derive(Default)]
pub struct OwedAck {
    /// Frames in all, modulo 2^32.
    received: u32,
    /// The newest frame had not arrived before this.
    received_since: Instant,
    /// Frames that were acknowledged.
    acknowledged: u32,
    /// Bytes that were not.
    bytes: u64,
    /// When the last pure acknowledgement was sent.
    last_pure: Instant,
    due: MaybeInstant,
}

impl OwedAck {
    /// A counted frame of `bytes` has arrived whole, over a path of that least round trip.
    pub fn received(&mut self, came: TimeRange, bytes: u64, urgency: Urgency, min_rtt_ns: u64) {
        let now = came.latest;
        self.received = self.received.wrapping_add(1);
        self.received_since = came.earliest;
        self.bytes += bytes;
        let many = self.received.wrapping_sub(self.acknowledged) >= EVERY_FRAMES || self.bytes >= EVERY_BYTES;
        let delay_ns = match (many, urgency) {
            (true, _) => 0,
            // One for all that come at the same time, not one each.
            (false, Urgency::Immediate) => prompt_delay_ns(min_rtt_ns).saturating_sub(now.since_ns(self.last_pure)),
            (false, Urgency::Prompt) => prompt_delay_ns(min_rtt_ns),
            (false, Urgency::Lazy) => lazy_delay_ns(min_rtt_ns),
        };
        self.schedule_within(now, delay_ns);
    }

    /// The same by memory: all but writes, which may be refused, is acknowledged by the driver.
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

    /// It is to be sent at once, as when the peer probes.
    pub fn schedule_now(&mut self, now: Instant) {
        self.schedule_within(now, 0);
    }

    fn schedule_within(&mut self, now: Instant, delay_ns: u64) {
        let due = now.plus_ns(delay_ns);
        self.due = Some(self.due.get().map_or(due, |earlier| earlier.min(due))).into();
    }

    /// The frames to acknowledge now; none is due then.
    pub fn take(&mut self, now: Instant) -> AckFields {
        let delay_us = now.since_ns(self.received_since) / 1000;
        self.acknowledged = self.received;
        self.bytes = 0;
        self.clear();
        AckFields { frames: self.received, delay_us: delay_us.min(u64::from(u16::MAX)) as u16 }
    }

    /// What was acknowledged last.
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

    /// None is due.
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
        subchannel.owed_ack.pure_sent(start);
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
