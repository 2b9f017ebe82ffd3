//! Measures the rate of a path that carries nothing, by padding, for which no message waits, however slow the path is.
//!
//! A probe is a packet pair (Keshav 1991): two frames are sent back to back, and the second one arrives later than the first by
//! the time that its bytes took to pass the bottleneck. A shaper may let some segments pass at once and make up for it later.
//! So a short pair shows at most that a path is slow; where it does not, a long pair follows, each frame of which is as long as
//! the largest segment of a kernel.

use std::cmp::Ordering;

use crate::rare::Empty;
use crate::time::Instant;

/// Bytes of padding that are a segment on most paths.
pub const PADDING_SEGMENT: u32 = 1400;
/// Lengths of the two frames of a short pair, in bytes: a segment, and what takes 66 us at 1 Gbit/s, above the noise of when a
/// process looks.
const SHORT: [u32; 2] = [PADDING_SEGMENT, 8 << 10];
/// Lengths of those of a long pair.
const LONG: [u32; 2] = [64 << 10, 64 << 10];
/// A pair is sent when the peer was sent so many times its bytes since the last one.
const BYTES_EACH: u64 = 2;
/// Least and longest pause between probes, in nanoseconds. It doubles while they show what was known.
const MIN_PAUSE_NS: u64 = 100_000_000;
const MAX_PAUSE_NS: u64 = 5_000_000_000;

/// When the peer had a frame, by its clock, in microseconds, wrapping: at the earliest and at the latest.
type Arrival = (u32, u32);

/// How far a pair has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing of it is sent.
    #[default]
    Waiting,
    /// The first frame was sent.
    FirstSent,
    /// Both were sent; the second as the subchannel's frame of this number. What is known of the first frame's arrival.
    Sent { second: u32, first: Option<Arrival> },
}

/// The probes of one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateProbe {
    stage: Stage,
    is_long: bool,
    /// Without messages, so many segments are to be in flight.
    filled: u16,
    sent_at: Instant,
    pause_ns: u64,
}

impl Empty for RateProbe {
    const EMPTY: &'static Self =
        &RateProbe { stage: Stage::Waiting, is_long: false, filled: 0, sent_at: Instant(0), pause_ns: 0 };
}

impl RateProbe {
    /// The length of the frame that is to be sent now, if there is one. `measured`: when the rate was last measured in any way;
    /// `sent`: bytes that the peer was sent since the last pair to it.
    pub fn next_frame(&self, now: Instant, measured: Instant, sent: u64) -> Option<u32> {
        let pair = if self.is_long { LONG } else { SHORT };
        let is_due = || {
            let is_old = measured == Instant(0) || now.since_ns(measured) >= self.pause_ns.max(MIN_PAUSE_NS);
            (self.is_long || is_old) && sent >= BYTES_EACH * u64::from(pair[0] + pair[1])
        };
        match self.stage {
            Stage::FirstSent => Some(pair[1]),
            Stage::Waiting if is_due() => Some(pair[0]),
            _ => None,
        }
    }

    /// Whether the second frame of a pair is to follow at once.
    pub fn is_begun(&self) -> bool {
        self.stage == Stage::FirstSent
    }

    /// Padding is sent while fewer than so many segments are in flight, however well the rate is known.
    pub fn fill_up_to(&mut self, segments: u16) {
        self.filled = segments;
    }

    /// The length of the frame that is to be sent for that: one leaves while the other is acknowledged.
    pub fn next_filling(&self, in_flight: u64) -> Option<u32> {
        let filled = u64::from(self.filled) * u64::from(PADDING_SEGMENT);
        let len = u32::from(self.filled / 2).max(1) * PADDING_SEGMENT;
        (in_flight < filled).then_some(len.min(LONG[0]))
    }

    /// It is sent, as the subchannel's frame `number`. Whether that was the first one of a pair.
    pub fn sent(&mut self, now: Instant, number: u32) -> bool {
        let is_first = self.stage != Stage::FirstSent;
        if is_first {
            (self.stage, self.sent_at) = (Stage::FirstSent, now);
        } else {
            self.stage = Stage::Sent { second: number, first: None };
        }
        is_first
    }

    /// Frames up to number `acked` are acknowledged; the peer said so at `said_at_us` and may have waited for `waited_us`. Once
    /// that is known: the length of the second frame, and how many nanoseconds it took, at least and at most.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        acked: u32,
        (said_at_us, waited_us): (u32, u16),
    ) -> Option<(u64, (u64, u64))> {
        let Stage::Sent { second, first } = self.stage else { return None };
        let is_acked = |number: u32| acked.wrapping_sub(number) <= u32::MAX / 2;
        let arrival = (said_at_us.wrapping_sub(u32::from(waited_us)), said_at_us);
        if !is_acked(second) {
            if is_acked(second.wrapping_sub(1)) {
                self.stage = Stage::Sent { second, first: first.or(Some(arrival)) };
            }
            return None;
        }
        self.stage = Stage::Waiting;
        let len = if self.is_long { LONG[1] } else { SHORT[1] };
        // Clocks are read to a microsecond.
        let between_ns = |from: u32, to: u32| u64::from((to.wrapping_sub(from) as i32).max(0) as u32) * 1000;
        let took_ns = match first {
            Some(first) => (between_ns(first.1, arrival.0).saturating_sub(1000), between_ns(first.0, arrival.1) + 1000),
            None => (0, now.since_ns(self.sent_at)),
        };
        Some((len.into(), took_ns))
    }

    /// The second frame took longer (`Greater`) than the rate that was known says, as long, or not as long. Whether that counts:
    /// a short pair that does not show a slow path is followed by a long one, unless it confirms what was measured.
    pub fn judge(&mut self, order: Ordering, was_measured: bool) -> bool {
        let is_enough = self.is_long || order.is_gt() || (order.is_eq() && was_measured);
        self.is_long = !is_enough;
        if is_enough {
            let pause_ns = if order.is_eq() { 2 * self.pause_ns } else { 0 };
            self.pause_ns = pause_ns.clamp(MIN_PAUSE_NS, MAX_PAUSE_NS);
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: u64 = BYTES_EACH * (SHORT[0] + SHORT[1]) as u64;

    fn send_pair(probe: &mut RateProbe, number: u32) {
        assert!(probe.next_frame(Instant(1), Instant(0), 1 << 20).is_some() && probe.sent(Instant(10), number));
        assert!(
            probe.next_frame(Instant(1), Instant(0), 0).is_some() && !probe.sent(Instant(11), number.wrapping_add(1))
        );
        assert_eq!(probe.next_frame(Instant(1), Instant(0), 1 << 20), None, "the pair is under way");
    }

    #[test]
    fn the_second_frame_shows_how_long_its_bytes_take() {
        let mut probe = RateProbe::default();
        send_pair(&mut probe, 7);
        assert_eq!(probe.acknowledged(Instant(100_000), 7, (u32::MAX - 9, 2)), None);
        let took_ns = (65_000, 73_000);
        assert_eq!(probe.acknowledged(Instant(200_000), 9, (60, 4)), Some((SHORT[1].into(), took_ns)));
    }

    #[test]
    fn one_acknowledgement_for_both_bounds_the_time_by_the_round_trip() {
        let mut probe = RateProbe::default();
        send_pair(&mut probe, u32::MAX);
        assert_eq!(probe.acknowledged(Instant(50_010), 0, (3, 0)), Some((SHORT[1].into(), (0, 50_000))));
    }

    #[test]
    fn a_short_pair_may_show_that_a_path_is_slow_and_a_long_one_that_it_is_fast() {
        let mut probe = RateProbe::default();
        assert!(probe.judge(Ordering::Greater, false), "it is slow");
        assert!(!probe.judge(Ordering::Less, true));
        assert_eq!(probe.next_frame(Instant(1), Instant(1), 1 << 20), Some(LONG[0]), "at once");
        assert!(probe.judge(Ordering::Less, true));
        assert!(!probe.judge(Ordering::Equal, false) && probe.judge(Ordering::Equal, false));
    }

    #[test]
    fn pauses_double_while_nothing_new_shows_and_a_peer_with_little_traffic_is_not_probed() {
        let mut probe = RateProbe::default();
        assert_eq!(probe.next_frame(Instant(1), Instant(0), PAIR - 1), None);
        (0..10).for_each(|_| assert!(probe.judge(Ordering::Equal, true)));
        let is_due = |probe: &RateProbe, now| probe.next_frame(Instant(now), Instant(1), PAIR).is_some();
        assert!(!is_due(&probe, MAX_PAUSE_NS) && is_due(&probe, MAX_PAUSE_NS + 1));
        assert!(probe.judge(Ordering::Greater, true));
        assert!(is_due(&probe, MIN_PAUSE_NS + 1));
    }
}
