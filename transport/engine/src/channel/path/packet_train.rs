//! Packet trains: frames that arrive back to back. On a long path acknowledgements are older than the queue is long, so
//! the rate follows from the spacing of arrivals while the path is never idle (packet dispersion).

use crate::time::Instant;

/// Bounds of an event's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// At the earliest.
    pub earliest: Instant,
    /// At the latest.
    pub latest: Instant,
}

impl TimeRange {
    /// The intersection with `other`, or `self` where they do not overlap.
    pub fn within(self, other: TimeRange) -> TimeRange {
        let (earliest, latest) = (self.earliest.max(other.earliest), self.latest.min(other.latest));
        if earliest <= latest { TimeRange { earliest, latest } } else { self }
    }

    fn width_ns(self) -> u64 {
        self.latest.since_ns(self.earliest)
    }
}

/// A train ends, and a new one begins, once its duration exceeds the uncertainty of its ends by this factor: the estimate
/// follows a path whose rate changes.
const MAX_LENGTH: u64 = 16;

/// Bounds of the time that some bytes took to pass the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// At least, in nanoseconds.
    pub min_ns: u64,
    /// At most, in nanoseconds.
    pub max_ns: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Frames that arrived back to back, without a pause of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketTrain {
    start: TimeRange,
    end: TimeRange,
    bytes: u64,
}

impl PacketTrain {
    /// Whether bytes whose first could not be there before `first` belong to this train.
    pub fn continues(&self, first: Instant, after_pause: bool) -> bool {
        // Otherwise the path may have run empty in between.
        !after_pause && first <= self.end.earliest && !self.is_long()
    }

    /// `bytes` more have arrived by `end`. The first of them could not arrive before `first`; `after_pause` says whether the
    /// sender paused before it. Returns how long the train has taken so far.
    pub fn extend(&mut self, first: Instant, after_pause: bool, end: TimeRange, bytes: u64) -> Elapsed {
        if after_pause || first > self.end.earliest {
            let start = TimeRange { earliest: first, latest: first.max(self.end.latest) };
            *self = PacketTrain { start, end, bytes: 0 };
        } else if self.is_long() {
            self.restart();
        }
        self.end = end;
        self.bytes += bytes;
        self.elapsed_by(end)
    }

    /// How long the train has taken; none without bytes.
    pub fn elapsed(&self) -> Option<Elapsed> {
        (self.bytes > 0).then(|| self.elapsed_by(self.end))
    }

    /// How long the train has taken, if it has passed the path only by `end`.
    pub fn elapsed_by(&self, end: TimeRange) -> Elapsed {
        let min_ns = end.earliest.since_ns(self.start.latest);
        Elapsed { min_ns, max_ns: end.latest.since_ns(self.start.earliest), bytes: self.bytes }
    }

    /// When its first frame could be there.
    pub fn started(&self) -> TimeRange {
        self.start
    }

    /// The next frames begin a new train.
    pub fn restart(&mut self) {
        *self = PacketTrain { start: self.end, end: self.end, bytes: 0 };
    }

    fn is_long(&self) -> bool {
        let took_ns = self.end.earliest.since_ns(self.start.latest);
        took_ns >= MAX_LENGTH * (self.start.width_ns() + self.end.width_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 KiB each 560 us, 117 MB/s, known to 300 us.
    fn end(at: u64) -> TimeRange {
        TimeRange { earliest: Instant(at * 560_000), latest: Instant(at * 560_000 + 300_000) }
    }

    #[test]
    fn the_longer_a_train_the_better_is_its_rate_known() {
        let mut train = PacketTrain::default();
        train.extend(Instant(1), false, end(1), 65536);
        let mut width = 1.0;
        for at in 2..10 {
            let took = train.extend(Instant(0), false, end(at), 65536);
            assert!(took.min_ns <= at * 560_000 && at * 560_000 <= took.max_ns && took.bytes == at * 65536);
            let before = std::mem::replace(&mut width, (took.max_ns - took.min_ns) as f64 / took.max_ns as f64);
            assert!(width < before);
        }
        assert!(width < 0.06, "{width}");
        let next = train.extend(Instant(0), false, end(10), 65536);
        assert_eq!(next, Elapsed { min_ns: 260_000, max_ns: 860_000, bytes: 65536 }, "a new one");
    }

    #[test]
    fn a_pause_of_the_sender_ends_a_train() {
        let mut train = PacketTrain::default();
        train.extend(Instant(1), false, end(1), 65536);
        let end = TimeRange { earliest: Instant(50_560_000), latest: Instant(50_700_000) };
        let took = train.extend(Instant(50_000_000), false, end, 65536);
        assert_eq!(took, Elapsed { min_ns: 560_000, max_ns: 700_000, bytes: 65536 });
    }
}
