//! Measures the rate of a path that carries nothing, by padding. No message waits for padding, however slow the path is.
//!
//! A probe is a packet train (Keshav 1991): frames are sent back to back, and the last one arrives later than the first by the
//! time that its bytes, and those before it, took to pass the bottleneck. A shaper lets a segment pass at once and makes up for
//! it later: the last frame of a short train is one that waits for that, and is sent so much later that no kernel makes one
//! segment of both. A short train shows at most that a path is slow; where it does not, a long one follows, each of whose two
//! frames is as long as the largest segment of a kernel.

use std::cmp::Ordering;

use super::packet_train::Elapsed;
use super::peer_clock::AckTiming;
use crate::time::Instant;

/// Bytes of padding that fit into one TCP segment on most paths.
pub const PADDING_SEGMENT: u32 = 1400;
/// Lengths of the frames of a short train, in bytes: a segment; 8 KiB, which take 66 us at 1 Gbit/s, above the noise of when a
/// process polls; and a segment that a shaper delays until its bucket has refilled.
const SHORT: &[u32] = &[PADDING_SEGMENT, 8 << 10, PADDING_SEGMENT];
/// Lengths of the frames of a long train, in bytes.
const LONG: &[u32] = &[64 << 10, 64 << 10];
/// Time from the first to the third frame of a train, in nanoseconds.
const THIRD_AFTER_NS: u64 = 10_000;
/// Bytes of messages sent to the peer for each byte of a train, over a path that was never measured and over others: bounds the
/// share of padding.
const BYTES_EACH: u64 = 2;
const BYTES_EACH_AGAIN: u64 = 16;
/// A long train is not sent over a path that it would occupy for longer than this, in nanoseconds. There a short one that comes
/// earlier than expected raises the rate by up to [`SHORT_INCREASE`].
const MAX_LONG_NS: u64 = 100_000_000;
const SHORT_INCREASE: u64 = 16;
/// What others send at that time may have taken the rest of the upper bound of a short train's time.
const MAX_SHARED: f64 = 8.0;
/// The pause between probes is at least this number of times as long as a short train takes.
const PAUSE_EACH: u64 = 64;
/// Bounds of the pause between probes, in nanoseconds. It doubles with each probe that confirms the rate.
const MIN_PAUSE_NS: u64 = 100_000_000;
const MAX_PAUSE_NS: u64 = 5_000_000_000;

/// When a frame arrived, by the peer's clock, in microseconds, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    earliest_us: u32,
    latest_us: u32,
}

/// How far a train has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No frame of the train is sent yet.
    #[default]
    Waiting,
    /// Some frames were sent, the first of them as the subchannel's frame of this number.
    Sending { frames: u8, first: u32 },
    /// All frames were sent. Numbers of the first and the last frame, and the arrival of the first one, once known.
    Sent { first: u32, last: u32, arrival: Option<Arrival> },
}

/// The probes of one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateProbe {
    stage: Stage,
    is_long: bool,
    /// A train has come through.
    has_completed: bool,
    /// Segments of padding to keep in flight while there are no messages; 0: none.
    filled: u16,
    /// When the first frame of the present train was sent.
    first_sent_at: Instant,
    /// When the newest frame of the present train was sent.
    last_sent_at: Instant,
    pause_ns: u64,
}

impl RateProbe {
    fn train(&self) -> &'static [u32] {
        if self.is_long { LONG } else { SHORT }
    }

    /// The length of the frame to send now, if there is one. `measured`: when the rate was last measured in any way; `sent`: bytes
    /// sent to the peer since the last train to it.
    pub fn next_frame(&self, now: Instant, measured: Instant, sent: u64) -> Option<u32> {
        let train = self.train();
        let is_due = || {
            let is_new = measured == Instant(0);
            let is_old = is_new || now.since_ns(measured) >= self.pause_ns.max(MIN_PAUSE_NS);
            let bytes_each = if is_new { BYTES_EACH } else { BYTES_EACH_AGAIN };
            (self.is_long || is_old) && sent >= bytes_each * bytes_of(train)
        };
        match self.stage {
            Stage::Sending { frames: 2, .. } if now.since_ns(self.first_sent_at) < THIRD_AFTER_NS => None,
            Stage::Sending { frames, .. } => train.get(usize::from(frames)).copied(),
            Stage::Waiting if is_due() => Some(train[0]),
            _ => None,
        }
    }

    /// Whether the other frames of a train are to follow the first one.
    pub fn is_begun(&self) -> bool {
        matches!(self.stage, Stage::Sending { .. })
    }

    /// Whether the first train is under way.
    #[inline]
    pub fn is_first(&self) -> bool {
        !self.has_completed && self.stage != Stage::Waiting
    }

    /// Padding is sent while fewer than `segments` are in flight, however well the rate is known.
    pub fn fill_up_to(&mut self, segments: u16) {
        self.filled = segments;
    }

    /// The length of the frame to send now for [`RateProbe::fill_up_to`]: one is sent while another is being acknowledged.
    pub fn next_filling(&self, in_flight: u64) -> Option<u32> {
        let filled = u64::from(self.filled) * u64::from(PADDING_SEGMENT);
        let len = u32::from(self.filled / 2).max(1) * PADDING_SEGMENT;
        (in_flight < filled).then_some(len.min(LONG[0]))
    }

    /// Padding is sent as the subchannel's frame `number`. Returns whether it is the first frame of a train. A frame that follows
    /// frames of messages ends its train, as it would measure those too.
    pub fn sent(&mut self, now: Instant, number: u32) -> bool {
        self.last_sent_at = now;
        let (frames, first) = match self.stage {
            Stage::Sending { frames, first } if number.wrapping_sub(first) != u32::from(frames) => {
                self.stage = Stage::Waiting;
                return false;
            }
            Stage::Sending { frames, first } => (frames + 1, first),
            _ => {
                self.first_sent_at = now;
                (1, number)
            }
        };
        self.stage = match usize::from(frames) == self.train().len() {
            true => Stage::Sent { first, last: number, arrival: None },
            false => Stage::Sending { frames, first },
        };
        frames == 1
    }

    /// The driver has batched the frames since `since`, and sends them `now`.
    pub fn held_frames_sent(&mut self, since: Instant, now: Instant) {
        for at in [&mut self.first_sent_at, &mut self.last_sent_at] {
            if *at >= since {
                *at = now;
            }
        }
    }

    /// Frames up to number `acked` are acknowledged. Returns how long the frames behind the first one took, once all of a train
    /// are acknowledged.
    pub fn acknowledged(&mut self, now: Instant, acked: u32, ack: AckTiming) -> Option<Elapsed> {
        let Stage::Sent { first, last, arrival } = self.stage else { return None };
        let is_acked = |number: u32| acked.wrapping_sub(number) <= u32::MAX / 2;
        let earliest_us = ack.sent_at_us.wrapping_sub(u32::from(ack.ack_delay_us));
        let here = Arrival { earliest_us, latest_us: ack.sent_at_us };
        if !is_acked(last) {
            if is_acked(first) {
                self.stage = Stage::Sent { first, last, arrival: arrival.or(Some(here)) };
            }
            return None;
        }
        (self.stage, self.has_completed) = (Stage::Waiting, true);
        let bytes = bytes_of(&self.train()[1..]);
        // Clocks are read to a microsecond.
        let between_ns = |from: u32, to: u32| u64::from((to.wrapping_sub(from) as i32).max(0) as u32) * 1000;
        let gap_ns = self.last_sent_at.since_ns(self.first_sent_at);
        let (min_ns, max_ns) = match arrival {
            Some(first) => (
                between_ns(first.latest_us, here.earliest_us).saturating_sub(1000 + gap_ns),
                between_ns(first.earliest_us, here.latest_us) + 1000,
            ),
            None => (0, now.since_ns(self.first_sent_at)),
        };
        Some(Elapsed { min_ns, max_ns, bytes })
    }

    /// A train took longer (`Greater`) than the known rate says, as long, or less. Returns whether the rate follows from it. A
    /// short train that does not show a slow path is followed by a long one, unless it confirms a measured rate. Over a path so
    /// slow, at `byte_ns` a byte, that a long train would take too long, a short one counts. Where only the upper bound of what a
    /// short one `took` allows such a path, another short one follows.
    pub fn judge(&mut self, order: Ordering, was_measured: bool, byte_ns: f64, took: Elapsed) -> bool {
        let is_enough = self.is_long || order.is_gt() || (order.is_eq() && was_measured) || is_expensive(byte_ns);
        let allowed_byte_ns = took.max_ns as f64 / took.bytes as f64;
        self.is_long = !is_enough && !is_expensive(allowed_byte_ns / MAX_SHARED);
        if is_enough {
            let pause_ns = if order.is_eq() { 2 * self.pause_ns } else { 0 };
            let least_ns = MIN_PAUSE_NS.max((byte_ns * bytes_of(SHORT) as f64) as u64 * PAUSE_EACH).min(MAX_PAUSE_NS);
            self.pause_ns = pause_ns.clamp(least_ns, MAX_PAUSE_NS);
        }
        is_enough
    }

    /// The shortest time, in nanoseconds, that a train which was expected to take `expected_ns` can prove.
    pub fn min_measurable_ns(byte_ns: f64, expected_ns: u64) -> u64 {
        if is_expensive(byte_ns) { expected_ns / SHORT_INCREASE } else { 0 }
    }
}

fn bytes_of(train: &[u32]) -> u64 {
    train.iter().map(|len| u64::from(*len)).sum()
}

fn is_expensive(byte_ns: f64) -> bool {
    byte_ns * bytes_of(LONG) as f64 > MAX_LONG_NS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 2 * PADDING_SEGMENT + (8 << 10);
    const SHOWN: Elapsed = Elapsed { min_ns: 0, max_ns: 90_000, bytes: BYTES as u64 };
    const ENOUGH: u64 = BYTES_EACH * BYTES as u64;

    fn ack(sent_at_us: u32, ack_delay_us: u16) -> AckTiming {
        AckTiming { sent_at_us, ack_delay_us }
    }

    /// Sends a short train as three frames from `number` on, the last one 10 us behind the first.
    fn send_train(probe: &mut RateProbe, number: u32) {
        let next = |probe: &RateProbe, now| probe.next_frame(Instant(now), Instant(0), 1 << 20);
        assert!(next(probe, 1).is_some() && probe.sent(Instant(10), number));
        assert!(next(probe, 11).is_some() && !probe.sent(Instant(11), number.wrapping_add(1)));
        assert_eq!(next(probe, 12), None, "it would pass with the second one");
        assert!(next(probe, 10_010).is_some() && !probe.sent(Instant(10_010), number.wrapping_add(2)));
        assert_eq!(next(probe, 10_011), None, "the train is under way");
    }

    #[test]
    fn the_frames_behind_the_first_one_show_how_long_their_bytes_take() {
        let mut probe = RateProbe::default();
        send_train(&mut probe, 7);
        assert!(probe.is_first());
        assert_eq!(probe.acknowledged(Instant(100_000), 7, ack(u32::MAX - 9, 2)), None);
        assert_eq!(probe.acknowledged(Instant(150_000), 8, ack(60, 4)), None);
        let bytes = u64::from(BYTES - PADDING_SEGMENT);
        let took = Elapsed { min_ns: 155_000, max_ns: 173_000, bytes };
        assert_eq!(probe.acknowledged(Instant(200_000), 10, ack(160, 4)), Some(took));
        assert!(!probe.is_first());
    }

    #[test]
    fn messages_between_its_frames_end_a_train() {
        let mut probe = RateProbe::default();
        assert!(probe.sent(Instant(10), 7) && !probe.sent(Instant(11), 8) && !probe.sent(Instant(10_011), 10));
        assert_eq!(probe.acknowledged(Instant(200_000), 10, ack(160, 4)), None);
        send_train(&mut probe, 11);
    }

    #[test]
    fn one_acknowledgement_for_all_bounds_the_time_by_the_round_trip() {
        let mut probe = RateProbe::default();
        send_train(&mut probe, u32::MAX);
        let bytes = u64::from(BYTES - PADDING_SEGMENT);
        let took = Elapsed { min_ns: 0, max_ns: 90_000, bytes };
        assert_eq!(probe.acknowledged(Instant(90_010), 1, ack(3, 0)), Some(took));
    }

    #[test]
    fn a_short_train_may_show_that_a_path_is_slow_and_a_long_one_that_it_is_fast() {
        let mut probe = RateProbe::default();
        assert!(probe.judge(Ordering::Greater, false, 8.0, SHOWN), "it is slow");
        assert!(!probe.judge(Ordering::Less, true, 8.0, SHOWN));
        assert_eq!(probe.next_frame(Instant(1), Instant(1), 1 << 22), Some(LONG[0]), "at once");
        assert!(probe.judge(Ordering::Less, true, 8.0, SHOWN));
        assert!(!probe.judge(Ordering::Equal, false, 8.0, SHOWN) && probe.judge(Ordering::Equal, false, 8.0, SHOWN));
    }

    #[test]
    fn no_long_train_goes_over_what_may_be_a_slow_path() {
        let mut probe = RateProbe::default();
        let late = Elapsed { max_ns: 90_000_000, ..SHOWN };
        assert!(!probe.judge(Ordering::Equal, false, 8.0, late), "nothing is known");
        assert_eq!(probe.next_frame(Instant(1), Instant(0), 1 << 20), Some(PADDING_SEGMENT), "a short one again");
    }

    #[test]
    fn pauses_double_while_nothing_new_shows_and_a_peer_with_little_traffic_is_not_probed() {
        let mut probe = RateProbe::default();
        assert_eq!(probe.next_frame(Instant(1), Instant(0), ENOUGH - 1), None);
        (0..10).for_each(|_| assert!(probe.judge(Ordering::Equal, true, 8.0, SHOWN)));
        let again = BYTES_EACH_AGAIN * BYTES as u64;
        assert_eq!(probe.next_frame(Instant(MAX_PAUSE_NS), Instant(1), again - 1), None);
        let is_due = |probe: &RateProbe, now| probe.next_frame(Instant(now), Instant(1), again).is_some();
        assert!(!is_due(&probe, MAX_PAUSE_NS) && is_due(&probe, MAX_PAUSE_NS + 1));
        assert!(probe.judge(Ordering::Greater, true, 8.0, SHOWN));
        assert!(is_due(&probe, MIN_PAUSE_NS + 1));
    }
}
