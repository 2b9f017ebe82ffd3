//! State of the progress calls: their number, the last known time, and the work that is due in the present one.

use fishplate_engine::Instant;

use super::poll_interval::PollInterval;
use super::socket_polls::SocketPolls;
use crate::ticks::Span;

/// Period in which attempts to connect are serviced, and paths sampled, in nanoseconds.
const TICK_NS: u64 = 5_000_000;

/// Calls in a row that find something in shared memory and do nothing else, at most: timers and reading the clock would take a
/// good part of a short message's time.
const MAX_SKIPPED: u32 = 16;

#[derive(Default)]
pub struct Progress {
    /// The clock when it was read last, in a call or when something was posted: exact enough for shared memory.
    pub now: Instant,
    /// Number of the present call.
    pub calls: u64,
    /// Calls in a row up to the present one that only polled shared memory.
    skipped: u32,
    /// When sockets are polled.
    pub socket_polls: SocketPolls,
    /// How often the poll set is polled.
    pub poll_interval: PollInterval,
    /// Others wait for the processor: it is better yielded to them than spent on polling.
    pub is_crowded: bool,
    /// When attempts and paths are serviced next.
    next_tick: Instant,
    /// The user has closed the endpoint: it ends once its peers have what was sent.
    pub is_closing: bool,
}

impl Progress {
    /// Whether the present call, which has found something in shared memory, may skip all else.
    #[inline]
    pub fn skips(&mut self) -> bool {
        let skips = self.skipped < MAX_SKIPPED;
        self.skipped += u32::from(skips);
        skips
    }

    /// The present call skips nothing.
    #[inline]
    pub fn skips_nothing(&mut self) {
        self.skipped = 0;
    }

    /// Whether sockets are to be polled in the present call.
    #[inline]
    pub fn is_socket_poll_due(&self) -> bool {
        self.is_crowded || !self.socket_polls.pause().goes_on()
    }

    /// Until when no poll of sockets is due.
    #[inline]
    pub fn pause(&self) -> Span {
        if self.is_crowded { Span::OVER } else { self.socket_polls.pause() }
    }

    /// Whether a tick is due, in which attempts and paths are serviced. Starts the next period.
    pub fn ticks(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_tick;
        if is_due {
            self.next_tick = now.plus_ns(TICK_NS);
        }
        is_due
    }

    /// Whether the poll set is to be polled in the present call. `is_expected`: the user may wait for data of some socket.
    pub fn is_poll_due(&self, now: Instant, is_expected: bool) -> bool {
        match is_expected {
            true => self.poll_interval.is_due(now, self.calls),
            false => self.poll_interval.is_overdue(now),
        }
    }

    /// The poll set was polled in the present call. `others_had`: other sockets than the active link's had data.
    pub fn polled(&mut self, now: Instant, others_had: bool) {
        self.poll_interval.polled(now, self.calls, others_had);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_calls_that_look_at_memory_alone_one_does_all() {
        let mut progress = Progress::default();
        assert_eq!((0..100).take_while(|_| progress.skips()).count(), MAX_SKIPPED as usize);
        assert!(!progress.skips());
        progress.skips_nothing();
        assert!(progress.skips());
    }

    #[test]
    fn a_tick_is_due_at_once_and_then_no_sooner_than_the_next() {
        let mut progress = Progress::default();
        let due: Vec<u64> =
            (0..=3 * TICK_NS / 1_000_000).filter(|ms| progress.ticks(Instant(ms * 1_000_000))).collect();
        assert_eq!(due, [0, 5, 10, 15]);
    }

    #[test]
    fn where_others_wait_for_the_processor_each_call_looks() {
        let mut progress = Progress::default();
        progress.socket_polls.begin(Instant(0));
        progress.socket_polls.found_nothing(Instant(100_000_000_000), false);
        progress.is_crowded = true;
        assert!(progress.is_socket_poll_due() && !progress.pause().goes_on());
    }
}
