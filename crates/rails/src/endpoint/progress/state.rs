//! Where the calls for progress stand: how many there were, what they know of the time, and what is due in the present one.

use fishplate_engine::Instant;

use super::looks::Looks;
use super::poll_interval::PollInterval;
use crate::ticks::Span;

/// How often attempts to connect are serviced, and paths sampled, in nanoseconds.
const TICK_NS: u64 = 5_000_000;

/// Calls in a row that find something in shared memory and do nothing else: all that is timed, and a look at the clock, would
/// take a good part of a short message.
const MAX_SKIPPED: u32 = 16;

/// The calls of one endpoint.
pub struct Progress {
    /// What the clock said last, for what goes through shared memory: in a call, or when something was posted.
    pub now: Instant,
    /// Number of the present call.
    pub calls: u64,
    /// Calls in a row up to the present one that only looked at shared memory.
    skipped: u32,
    /// When sockets are looked at.
    pub looks: Looks,
    /// How often the poll set is asked.
    pub poll_interval: PollInterval,
    /// Others wait for the processor: it is better given to them than spent on looking longer.
    pub is_crowded: bool,
    /// When to look after attempts and paths next.
    next_tick: Instant,
    /// The user has closed the endpoint: it ends once its peers have what was sent.
    pub is_closing: bool,
}

impl Progress {
    /// Before the first call.
    pub fn new() -> Progress {
        Progress {
            now: Instant(0),
            calls: 0,
            skipped: 0,
            looks: Looks::default(),
            poll_interval: PollInterval::new(),
            is_crowded: false,
            next_tick: Instant(0),
            is_closing: false,
        }
    }

    /// Whether the present call, which has found something in shared memory, may do nothing else.
    #[inline]
    pub fn skips(&mut self) -> bool {
        let skips = self.skipped < MAX_SKIPPED;
        self.skipped += u32::from(skips);
        skips
    }

    /// The present call does all that is due.
    #[inline]
    pub fn skips_nothing(&mut self) {
        self.skipped = 0;
    }

    /// Whether sockets are to be looked at in the present call.
    #[inline]
    pub fn is_look_due(&self) -> bool {
        self.is_crowded || !self.looks.pause().goes_on()
    }

    /// Until when there is nothing to look at in sockets.
    #[inline]
    pub fn pause(&self) -> Span {
        if self.is_crowded { Span::OVER } else { self.looks.pause() }
    }

    /// Whether attempts and paths are to be looked after now; not again before the next tick.
    pub fn ticks(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_tick;
        if is_due {
            self.next_tick = now.plus_ns(TICK_NS);
        }
        is_due
    }

    /// Whether the poll set is to be asked in the present call. `is_expected`: some socket may have what somebody waits for.
    pub fn is_poll_due(&self, now: Instant, is_expected: bool) -> bool {
        match is_expected {
            true => self.poll_interval.is_due(now, self.calls),
            false => self.poll_interval.is_overdue(now),
        }
    }

    /// The poll set was asked in the present call; sockets that are not polled in every call had data if `others_had`.
    pub fn polled(&mut self, now: Instant, others_had: bool) {
        self.poll_interval.polled(now, self.calls, others_had);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_calls_that_look_at_memory_alone_one_does_all() {
        let mut progress = Progress::new();
        assert_eq!((0..100).take_while(|_| progress.skips()).count(), MAX_SKIPPED as usize);
        assert!(!progress.skips());
        progress.skips_nothing();
        assert!(progress.skips());
    }

    #[test]
    fn a_tick_is_due_at_once_and_then_no_sooner_than_the_next() {
        let mut progress = Progress::new();
        let due: Vec<u64> =
            (0..=3 * TICK_NS / 1_000_000).filter(|ms| progress.ticks(Instant(ms * 1_000_000))).collect();
        assert_eq!(due, [0, 5, 10, 15]);
    }

    #[test]
    fn where_others_wait_for_the_processor_each_call_looks() {
        let mut progress = Progress::new();
        progress.looks.begin(Instant(0));
        progress.looks.nothing_came(Instant(100_000_000_000), false);
        progress.is_crowded = true;
        assert!(progress.is_look_due() && !progress.pause().goes_on());
    }
}
