//! How often the poll set (`epoll`) is polled; in between only the active link, which had data last, is polled.

use fishplate_engine::Instant;

/// Calls from one poll to the next while other sockets than the active link's have data.
const MIN_CALLS: u64 = 4;
/// Calls from one poll to the next, at most, while only the active link has data: a poll costs a system call, and a program that
/// talks to one peer over one rail would pay for all others with every message.
const MAX_CALLS: u64 = 64;
/// Time from one poll to the next, at most, in nanoseconds, as some programs call rarely.
pub const MAX_INTERVAL_NS: u64 = 10_000;
/// [`MAX_INTERVAL_NS`] where all peers share memory, so that sockets only report their end or new connections, which take longer.
const UNEXPECTED_INTERVAL_NS: u64 = 100_000;

/// When the poll set was polled last, and when it is polled next.
pub struct PollInterval {
    last: Instant,
    every: u64,
    next_call: u64,
    active_had_data: bool,
}

impl Default for PollInterval {
    /// The first poll is due in the first call.
    fn default() -> PollInterval {
        PollInterval { last: Instant(0), every: MIN_CALLS, next_call: 0, active_had_data: false }
    }
}

impl PollInterval {
    /// When the poll set was polled last.
    pub fn last_poll(&self) -> Instant {
        self.last
    }

    /// Whether the interval is [`MAX_CALLS`]: only the active link has had data for a while.
    pub fn is_at_maximum(&self) -> bool {
        self.every == MAX_CALLS
    }

    /// Whether the poll set is to be polled in this call.
    pub fn is_due(&self, now: Instant, call: u64) -> bool {
        call >= self.next_call || now.since_ns(self.last) >= MAX_INTERVAL_NS
    }

    /// [`PollInterval::is_due`] where no socket is expected to have data.
    pub fn is_overdue(&self, now: Instant) -> bool {
        now.since_ns(self.last) >= UNEXPECTED_INTERVAL_NS
    }

    pub fn active_link_had_data(&mut self) {
        self.active_had_data = true;
    }

    /// The poll set has been polled; `others`: other sockets than the active link's had data. While no socket has any, the interval
    /// does not grow, as it is not known which will have data next.
    pub fn polled(&mut self, now: Instant, call: u64, others: bool) {
        self.every = match (others, self.active_had_data) {
            (true, _) => MIN_CALLS,
            (false, true) => (2 * self.every).min(MAX_CALLS),
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
        let mut poll_interval = PollInterval::default();
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
        let mut poll_interval = PollInterval::default();
        poll_interval.polled(Instant(1), 0, false);
        assert!(poll_interval.is_due(Instant(2), 4) && !poll_interval.is_overdue(Instant(UNEXPECTED_INTERVAL_NS)));
        assert!(poll_interval.is_overdue(Instant(UNEXPECTED_INTERVAL_NS + 1)));
    }

    #[test]
    fn a_program_that_calls_rarely_asks_every_time() {
        let mut poll_interval = PollInterval::default();
        let now = |call| Instant(call * MAX_INTERVAL_NS);
        assert!((1..100).all(|call| {
            let due = poll_interval.is_due(now(call), call);
            poll_interval.polled(now(call), call, false);
            due
        }));
    }
}
