//! When sockets are polled in the calls of a user who waits. A poll takes one or two system calls, many times as long as a call
//! without one; and such calls follow each other closely, whether the user blocks in MPI or tests in a loop.
//!
//! So the time from one poll to the next grows with the time that the user has waited already: data is noticed late by a small
//! part of that at most, and a long wait costs few polls.

use fishplate_engine::Instant;

use crate::ticks::{self, Span};

/// The time from one poll to the next is the time waited divided by this: data is noticed late by half of that on average, less
/// than one percent.
const PART: u64 = 128;
/// Longest time from one poll to the next, in nanoseconds: one poll in a hundred calls.
const MAX_INTERVAL_NS: u64 = 25_000;
/// [`MAX_INTERVAL_NS`] while no connected peer could send anything: setting up a connection takes longer.
const MAX_UNEXPECTED_INTERVAL_NS: u64 = 100_000;
/// A user who calls this time, in nanoseconds, after a poll was due has done something else: the wait begins with the call.
const AWAY_NS: u64 = 20_000;
/// From this time between polls on, in nanoseconds, one system call for all sockets is better than polling the active link alone.
const ALL_SOCKETS_FROM_NS: u64 = 2_000;

/// When sockets were polled last, and when they are polled next.
#[derive(Default)]
pub struct SocketPolls {
    /// Since when the user has called in vain, with nothing received or posted. `None`: the last poll found something.
    waiting_since: Option<Instant>,
    /// When the last poll ended, if it found nothing, else when it began.
    last: Instant,
    /// From the end of the last poll to the next.
    pause: Span,
    pause_ns: u64,
    /// The user's thread has yielded since the last poll.
    has_yielded: bool,
}

impl SocketPolls {
    /// Until when no poll is due.
    #[inline]
    pub fn pause(&self) -> Span {
        self.pause
    }

    /// Something was posted: a new wait begins now, with a poll.
    #[inline]
    pub fn expect(&mut self) {
        *self = SocketPolls::default();
    }

    /// Says whether the user's thread has yielded its processor since the last poll: then it was waiting, however long that took.
    #[inline]
    pub fn set_yielded(&mut self, has_yielded: bool) {
        self.has_yielded |= has_yielded;
    }

    /// A poll begins. Returns whether polls have become rare.
    pub fn begin(&mut self, now: Instant) -> bool {
        let has_yielded = std::mem::take(&mut self.has_yielded);
        if now.since_ns(self.last) > self.pause_ns + AWAY_NS && !has_yielded {
            self.expect();
        }
        self.last = now;
        self.waiting_since.get_or_insert(now);
        self.pause_ns >= ALL_SOCKETS_FROM_NS
    }

    /// A poll that ended at `now` has found nothing. `is_expected`: a connected peer may send something.
    pub fn found_nothing(&mut self, now: Instant, is_expected: bool) {
        // A poll that took long, as under a tracer, is no absence of the user.
        self.last = now;
        let waited_ns = self.waiting_since.map_or(0, |since| now.since_ns(since));
        let longest_ns = if is_expected { MAX_INTERVAL_NS } else { MAX_UNEXPECTED_INTERVAL_NS };
        self.pause_ns = (waited_ns / PART).min(longest_ns);
        self.pause = Span { since: ticks::now(), ticks: ticks::of_ns(self.pause_ns) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls as a user does who waits from 0 on until something comes at `until_ns`. Returns the number of polls, and how late the
    /// last one is. Each poll is made when its pause is over.
    fn wait(polls: &mut SocketPolls, until_ns: u64) -> (u64, u64) {
        let (mut now, mut count) = (0, 0);
        while now < until_ns {
            polls.begin(Instant(now));
            polls.found_nothing(Instant(now), true);
            count += 1;
            now += polls.pause_ns.max(200);
        }
        (count, now - until_ns)
    }

    #[test]
    fn data_are_late_by_one_percent_at_most_and_a_long_wait_costs_few_polls() {
        for until_ns in [10_000, 100_000, 1_000_000, 10_000_000, 1_000_000_000] {
            let (count, late_ns) = wait(&mut SocketPolls::default(), until_ns);
            assert!(late_ns <= (until_ns / 100).max(200), "{late_ns} ns late after {until_ns} ns");
            assert!(count <= 1000 + until_ns / MAX_INTERVAL_NS, "{count} polls in {until_ns} ns");
        }
    }

    #[test]
    fn sockets_are_polled_immediately_after_a_post() {
        let mut polls = SocketPolls::default();
        wait(&mut polls, 10_000_000);
        let now = Instant(polls.last.0 + polls.pause_ns);
        assert!(polls.begin(now), "polls are rare");
        polls.expect();
        assert!(!polls.pause().goes_on() && !polls.begin(now));
        polls.found_nothing(now, true);
        assert_eq!(polls.pause_ns, 0);
    }

    #[test]
    fn where_nobody_is_connected_looks_become_rarer() {
        let mut polls = SocketPolls::default();
        wait(&mut polls, 1_000_000_000);
        polls.found_nothing(Instant(1_000_000_000), true);
        assert_eq!(polls.pause_ns, MAX_INTERVAL_NS);
        polls.found_nothing(Instant(1_000_000_000), false);
        assert_eq!(polls.pause_ns, MAX_UNEXPECTED_INTERVAL_NS);
    }

    #[test]
    fn looks_that_take_long_become_rare_as_others_do() {
        let mut polls = SocketPolls::default();
        let mut now = 0;
        for _ in 0..100 {
            polls.begin(Instant(now));
            polls.found_nothing(Instant(now + 500_000), true);
            now += 500_000 + polls.pause_ns.max(200);
        }
        assert_eq!(polls.pause_ns, MAX_INTERVAL_NS);
    }

    #[test]
    fn a_process_that_has_yielded_was_not_away() {
        let mut polls = SocketPolls::default();
        wait(&mut polls, 10_000_000);
        polls.set_yielded(true);
        assert!(polls.begin(Instant(polls.last.0 + 1_000_000)));
        assert!(!polls.begin(Instant(polls.last.0 + 2_000_000)), "it has not since");
    }

    #[test]
    fn a_process_that_was_away_waits_from_its_return_on() {
        let mut polls = SocketPolls::default();
        wait(&mut polls, 10_000_000);
        let back = Instant(polls.last.0 + 1_000_000);
        assert!(!polls.begin(back));
        polls.found_nothing(back, true);
        assert_eq!(polls.pause_ns, 0);
    }
}
