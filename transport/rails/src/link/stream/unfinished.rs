//! Stalled encrypted records. A forged length in the stream makes the reader wait for bytes that are never sent; where this connection
//! is the only one, no other sign would show that.

use fishplate_engine::Instant;

/// Longest time between two checks that counts, in nanoseconds: bytes may have come while the process did not check.
const MAX_POLL_INTERVAL_NS: u64 = 100_000_000;

/// The record that is being received, as it was seen last.
#[derive(Debug, Default)]
pub struct UnfinishedRecord {
    /// Received bytes of it; 0 where there was none.
    len: usize,
    seen_at: Instant,
    waited_ns: u64,
}

impl UnfinishedRecord {
    /// `len` bytes of it have come by now. Returns for how long no more have, in nanoseconds.
    pub fn observe(&mut self, len: usize, now: Instant) -> u64 {
        let is_as_before = len > 0 && len == self.len;
        let since_ns = now.since_ns(self.seen_at).min(MAX_POLL_INTERVAL_NS);
        let waited_ns = if is_as_before { self.waited_ns + since_ns } else { 0 };
        *self = UnfinishedRecord { len, seen_at: now, waited_ns };
        waited_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_grow_or_end_or_are_not_polled_are_not_waited_for() {
        let mut record = UnfinishedRecord::default();
        let mut observe = |ms: u64, len| record.observe(len, Instant(ms * 1_000_000)) / 1_000_000;
        assert_eq!(
            [observe(1000, 0), observe(1010, 0), observe(1020, 5), observe(1030, 5), observe(1050, 5)],
            [0, 0, 0, 10, 30]
        );
        assert_eq!([observe(1060, 6), observe(1070, 0), observe(1080, 6), observe(1090, 6)], [0, 0, 0, 10]);
        // The process was stopped.
        assert_eq!([observe(9000, 6), observe(9010, 7)], [110, 0]);
    }
}
