//! How often the poll set is asked; in between only the active link, which had data last, is polled.

use fishplate_engine::Instant;

/// Progress calls from one poll to the next while other sockets than the active link's have data.
const SHORTEST_CALLS: u64 = 4;
/// The most, while only the active link has any: a poll costs a system call, and a program that talks to one peer over one
/// rail would pay for all the others with every message.
const LONGEST_CALLS: u64 = 64;
/// At the latest after so many nanoseconds, as some programs call rarely.
pub const LONGEST_INTERVAL_NS: u64 = 10_000;
/// The same where all peers share memory, and sockets only tell of their end or of somebody new: who connects takes longer.
const UNEXPECTED_INTERVAL_NS: u64 = 100_000;

/// When the poll set was asked last, and when it is asked next.
pub struct PollInterval {
    last: Instant,
    every: u64,
    next_call: u64,
    active_had_data: bool,
}

impl PollInterval {
    /// In the first call.
    pub fn new() -> PollInterval {
        PollInterval { last: Instant(0), every: SHORTEST_CALLS, next_call: 0, active_had_data: false }
    }

    /// When the poll set was asked last.
    pub fn last_poll(&self) -> Instant {
        self.last
    }

    /// Only the active link has had data for long.
    pub fn is_longest(&self) -> bool {
        self.every == LONGEST_CALLS
    }

    /// Whether the poll set is to be asked in this call.
    pub fn is_due(&self, now: Instant, call: u64) -> bool {
        call >= self.next_call || now.since_ns(self.last) >= LONGEST_INTERVAL_NS
    }

    /// The same where no socket is expected to have anything.
    pub fn is_overdue(&self, now: Instant) -> bool {
        now.since_ns(self.last) >= UNEXPECTED_INTERVAL_NS
    }

    /// The active link had data.
    pub fn active_link_had_data(&mut self) {
        self.active_had_data = true;
    }

    /// The poll set has been asked; `others` had data. While none has any, it is not known which will be next.
    pub fn polled(&mut self, now: Instant, call: u64, others: bool) {
        self.every = match (others, self.active_had_data) {
            (true, _) => SHORTEST_CALLS,
            (false, true) => (2 * self.every).min(LONGEST_CALLS),
            (false, false) => self.every,
        };
        (self.last, self.next_call, self.active_had_data) = (now, call + self.every, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_without_news_are_asked_less_and_less_often_until_one_has_some() {
        let mut poll_interval = PollInterval::new();
        let mut polled_in = Vec::new();
        for call in 0..200 {
            if (20..150).contains(&call) {
                poll_interval.active_link_had_data();
            }
            if poll_interval.is_due(Instant(1), call) {
                polled_in.push(call);
                poll_interval.polled(Instant(1), call, call == 140);
            }
        }
        assert_eq!(polled_in, [0, 4, 8, 12, 16, 20, 28, 44, 76, 140, 144, 152, 168, 184]);
    }

    #[test]
    fn sockets_of_which_nothing_is_expected_are_asked_by_time_alone() {
        let mut poll_interval = PollInterval::new();
        poll_interval.polled(Instant(1), 0, false);
        assert!(poll_interval.is_due(Instant(2), 4) && !poll_interval.is_overdue(Instant(UNEXPECTED_INTERVAL_NS)));
        assert!(poll_interval.is_overdue(Instant(UNEXPECTED_INTERVAL_NS + 1)));
    }

    #[test]
    fn a_program_that_calls_rarely_asks_every_time() {
        let mut poll_interval = PollInterval::new();
        let now = |call| Instant(call * LONGEST_INTERVAL_NS);
        assert!((1..100).all(|call| {
            let due = poll_interval.is_due(now(call), call);
            poll_interval.polled(now(call), call, false);
            due
        }));
    }
}
