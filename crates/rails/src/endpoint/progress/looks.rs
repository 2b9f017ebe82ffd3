//! When sockets are looked at, in the calls of a user who waits. A look takes a system call or two, many times what a call that
//! finds nothing takes otherwise; and such calls follow each other closely, whether the user blocks in MPI or tests in a loop.
//!
//! So the time from one look to the next grows with the time that the user has waited already: what comes is late by a small
//! part of that at most, and a long wait costs few looks.

use fishplate_engine::Instant;

use crate::ticks::{self, Span};

/// The time from one look to the next is this part of the time waited: what comes is late by half of that on average, which is
/// less than one percent.
const PART: u64 = 128;
/// It is no longer than so many nanoseconds: one look in a hundred calls then.
const LONGEST_NS: u64 = 25_000;
/// The same where nobody is connected who could send anything: whoever connects takes longer.
const LONGEST_UNEXPECTED_NS: u64 = 100_000;
/// A user who comes so many nanoseconds after a look was due has done something else meanwhile, and waits from now on.
const AWAY_NS: u64 = 20_000;
/// From so many nanoseconds from one look to the next on, one system call for all sockets serves better than a quicker answer of
/// the one that had data last.
const RARE_NS: u64 = 2_000;

/// When sockets were looked at last, and when they are next.
#[derive(Default)]
pub struct Looks {
    /// Since when nothing has come and nothing was posted while the user called. `None`: something has.
    waiting_since: Option<Instant>,
    /// When the last look ended, if it found nothing, else when it began.
    last: Instant,
    /// From its end to the next.
    pause: Span,
    pause_ns: u64,
    /// The user's thread has yielded since.
    has_yielded: bool,
}

impl Looks {
    /// Until when there is nothing to look at.
    #[inline]
    pub fn pause(&self) -> Span {
        self.pause
    }

    /// Something was posted: the wait for what follows begins now, with a look.
    #[inline]
    pub fn expect(&mut self) {
        *self = Looks::default();
    }

    /// Whether the user's thread has yielded its processor since the last look: however long that took, it was waiting.
    #[inline]
    pub fn set_yielded(&mut self, has_yielded: bool) {
        self.has_yielded |= has_yielded;
    }

    /// A look begins. Whether looks have become rare.
    pub fn begin(&mut self, now: Instant) -> bool {
        let has_yielded = std::mem::take(&mut self.has_yielded);
        if now.since_ns(self.last) > self.pause_ns + AWAY_NS && !has_yielded {
            self.expect();
        }
        self.last = now;
        self.waiting_since.get_or_insert(now);
        self.pause_ns >= RARE_NS
    }

    /// A look that ended at `now` has found nothing. `is_expected`: somebody is connected who may send something.
    pub fn nothing_came(&mut self, now: Instant, is_expected: bool) {
        // A look that took long, as under a tracer, is no absence of the user.
        self.last = now;
        let waited_ns = self.waiting_since.map_or(0, |since| now.since_ns(since));
        let longest_ns = if is_expected { LONGEST_NS } else { LONGEST_UNEXPECTED_NS };
        self.pause_ns = (waited_ns / PART).min(longest_ns);
        self.pause = Span { since: ticks::now(), ticks: ticks::of_ns(self.pause_ns) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `looks` as a user does who waits from 0 on until something comes at `until_ns`; how many looks that takes, and how
    /// late the last is. Each look is due when its pause is over.
    fn wait(looks: &mut Looks, until_ns: u64) -> (u64, u64) {
        let (mut now, mut count) = (0, 0);
        while now < until_ns {
            looks.begin(Instant(now));
            looks.nothing_came(Instant(now), true);
            count += 1;
            now += looks.pause_ns.max(200);
        }
        (count, now - until_ns)
    }

    #[test]
    fn what_comes_is_late_by_one_percent_at_most_and_a_long_wait_costs_few_looks() {
        for until_ns in [10_000, 100_000, 1_000_000, 10_000_000, 1_000_000_000] {
            let (count, late_ns) = wait(&mut Looks::default(), until_ns);
            assert!(late_ns <= (until_ns / 100).max(200), "{late_ns} ns late after {until_ns} ns");
            assert!(count <= 1000 + until_ns / LONGEST_NS, "{count} looks in {until_ns} ns");
        }
    }

    #[test]
    fn what_is_posted_is_looked_for_at_once() {
        let mut looks = Looks::default();
        wait(&mut looks, 10_000_000);
        let now = Instant(looks.last.0 + looks.pause_ns);
        assert!(looks.begin(now), "looks are rare");
        looks.expect();
        assert!(!looks.pause().goes_on() && !looks.begin(now));
        looks.nothing_came(now, true);
        assert_eq!(looks.pause_ns, 0);
    }

    #[test]
    fn where_nobody_is_connected_looks_become_rarer() {
        let mut looks = Looks::default();
        wait(&mut looks, 1_000_000_000);
        looks.nothing_came(Instant(1_000_000_000), true);
        assert_eq!(looks.pause_ns, LONGEST_NS);
        looks.nothing_came(Instant(1_000_000_000), false);
        assert_eq!(looks.pause_ns, LONGEST_UNEXPECTED_NS);
    }

    #[test]
    fn looks_that_take_long_become_rare_as_others_do() {
        let mut looks = Looks::default();
        let mut now = 0;
        for _ in 0..100 {
            looks.begin(Instant(now));
            looks.nothing_came(Instant(now + 500_000), true);
            now += 500_000 + looks.pause_ns.max(200);
        }
        assert_eq!(looks.pause_ns, LONGEST_NS);
    }

    #[test]
    fn who_has_yielded_was_not_away() {
        let mut looks = Looks::default();
        wait(&mut looks, 10_000_000);
        looks.set_yielded(true);
        assert!(looks.begin(Instant(looks.last.0 + 1_000_000)));
        assert!(!looks.begin(Instant(looks.last.0 + 2_000_000)), "it has not since");
    }

    #[test]
    fn who_was_away_waits_from_the_return_on() {
        let mut looks = Looks::default();
        wait(&mut looks, 10_000_000);
        let back = Instant(looks.last.0 + 1_000_000);
        assert!(!looks.begin(back));
        looks.nothing_came(back, true);
        assert_eq!(looks.pause_ns, 0);
    }
}
