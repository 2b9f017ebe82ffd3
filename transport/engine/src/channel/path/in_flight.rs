//! Bytes in flight over a subchannel's path, and how many of them still queue before its bottleneck, as far as the rate and
//! acknowledgements tell.

use super::packet_train::TimeRange;
use super::rate::Rate;
use super::sent_frames::SentFrame;
use crate::time::Instant;

/// Bytes in flight, and when the last of them leaves.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    /// Bytes sent and not acknowledged.
    in_flight: u64,
    /// When, at the estimated rate, all bytes will have passed the bottleneck.
    busy_until: Instant,
}

impl InFlight {
    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes that still queue before the bottleneck, or that it has passed ahead of its rate. Never more than follow from the rate,
    /// as acknowledgements come late and in batches.
    pub fn queued_ahead(&self, now: Instant, rate: &Rate) -> u64 {
        let modelled = self.busy_until.since_ns(now) as f64 * rate.measured() / 1e9;
        (self.in_flight + rate.burst(now)).min(modelled as u64)
    }

    pub fn add(&mut self, now: Instant, bytes: u64, rate: &Rate) -> SentFrame {
        let queued = self.queued_ahead(now, rate) + bytes;
        self.in_flight += bytes;
        let start = self.busy_until.max(now);
        self.busy_until = start.plus_ns(rate.time_of(bytes));
        SentFrame { at: now, bytes, queued }
    }

    /// The driver has batched the last `bytes`: they are not sent yet.
    pub fn retract(&mut self, now: Instant, bytes: u64, rate: &Rate) {
        let ahead = self.queued_ahead(now, rate).saturating_sub(bytes);
        debug_assert!(bytes <= self.in_flight, "what was held back was in flight");
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.busy_until = now.plus_ns(rate.time_of(ahead));
    }

    pub fn acknowledged(&mut self, frame: SentFrame) {
        debug_assert!(frame.bytes <= self.in_flight, "each frame is acknowledged once");
        self.in_flight = self.in_flight.saturating_sub(frame.bytes);
    }

    /// The acknowledged frames left the bottleneck within `left`; the frames in flight follow: `behind`, the oldest first. So the
    /// end of the queue is as exact as `left`, and errors of the rate do not accumulate.
    pub fn adjust<'a>(&mut self, left: TimeRange, rate: &Rate, behind: impl DoubleEndedIterator<Item = &'a SentFrame>) {
        let in_flight_ns = rate.time_of(self.in_flight);
        let earliest = left.earliest.plus_ns(in_flight_ns);
        let owed_ns = rate.time_of(rate.burst(left.latest));
        let mut latest = earliest.max(left.latest.plus_ns(in_flight_ns + owed_ns));
        // Later if one of them was sent only when all before it had passed.
        let mut bytes = 0;
        for frame in behind.rev() {
            bytes += frame.bytes;
            latest = latest.max(frame.at.plus_ns(rate.time_of(bytes)));
        }
        self.busy_until = self.busy_until.clamp(earliest, latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn between(earliest_ns: u64, latest_ns: u64) -> TimeRange {
        TimeRange { earliest: Instant(earliest_ns), latest: Instant(latest_ns) }
    }

    #[test]
    fn a_rate_that_is_a_little_wrong_does_not_add_up() {
        let (mut in_flight, rate) = (InFlight::default(), Rate::new(Some(1e8)));
        // It is 1.1e8: each 100 KB leave in 0.909 ms, and are acknowledged 2 ms later. Ten are always in flight.
        let left = |frame: u64| Instant((frame + 1) * 10 * MS / 11);
        let mut frames: Vec<SentFrame> = (0..10).map(|_| in_flight.add(Instant(0), 100_000, &rate)).collect();
        for at in 0..200 {
            let now = left(at).plus_ns(2 * MS);
            frames.push(in_flight.add(now, 100_000, &rate));
            in_flight.acknowledged(frames.remove(0));
            in_flight.adjust(between(left(at).0, left(at).0), &rate, frames.iter());
            let ends = now.plus_ns(in_flight.queued_ahead(now, &rate) * 10);
            assert!(ends.0.abs_diff(left(at + 10).0) < MS, "{at}: {ends:?}");
        }
    }

    #[test]
    fn frames_handed_over_after_a_pause_have_not_left_before() {
        let (mut in_flight, rate) = (InFlight::default(), Rate::new(Some(1e8)));
        let early = in_flight.add(Instant(0), 100_000, &rate);
        let late = [in_flight.add(Instant(10 * MS), 50_000, &rate), in_flight.add(Instant(10 * MS), 50_000, &rate)];
        in_flight.acknowledged(early);
        in_flight.adjust(between(MS, MS), &rate, late.iter());
        assert_eq!(in_flight.queued_ahead(Instant(10 * MS), &rate), 100_000);
    }

    #[test]
    fn a_path_that_is_slower_than_thought_has_more_under_way() {
        let (mut in_flight, rate) = (InFlight::default(), Rate::new(Some(1e8)));
        let frames = [in_flight.add(Instant(0), 100_000, &rate), in_flight.add(Instant(0), 100_000, &rate)];
        in_flight.acknowledged(frames[0]);
        in_flight.adjust(between(5 * MS, 6 * MS), &rate, frames[1..].iter());
        assert_eq!(in_flight.queued_ahead(Instant(5 * MS), &rate), 100_000);
    }
}
