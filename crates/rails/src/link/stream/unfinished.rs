//! Time for which nothing more of an encrypted record has come. A length that an attacker puts into a stream makes the reader wait
//! for bytes that nobody sends: where this connection is the only one, nothing else would ever show that.

use fishplate_engine::Instant;

/// What a process that has not looked for longer has slept through does not count: bytes may have come meanwhile.
const MOST_BETWEEN_LOOKS_NS: u64 = 100_000_000;

/// The record that is being received, as it was seen last.
#[derive(Debug, Default)]
pub struct UnfinishedRecord {
    /// Bytes of it that had come; 0 where there was none.
    len: usize,
    seen_at: Instant,
    waited_ns: u64,
}

impl UnfinishedRecord {
    /// There are `len` bytes of it now: how long nothing more has come, in nanoseconds.
    pub fn look(&mut self, len: usize, now: Instant) -> u64 {
        let is_as_before = len > 0 && len == self.len;
        let since_ns = now.since_ns(self.seen_at).min(MOST_BETWEEN_LOOKS_NS);
        let waited_ns = if is_as_before { self.waited_ns + since_ns } else { 0 };
        *self = UnfinishedRecord { len, seen_at: now, waited_ns };
        waited_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_ends_or_is_not_looked_at_is_not_waited_for() {
        let mut record = UnfinishedRecord::default();
        let mut look = |ms: u64, len| record.look(len, Instant(ms * 1_000_000)) / 1_000_000;
        assert_eq!([look(1000, 0), look(1010, 0), look(1020, 5), look(1030, 5), look(1050, 5)], [0, 0, 0, 10, 30]);
        assert_eq!([look(1060, 6), look(1070, 0), look(1080, 6), look(1090, 6)], [0, 0, 0, 10]);
        // The process was stopped.
        assert_eq!([look(9000, 6), look(9010, 7)], [110, 0]);
    }
}
