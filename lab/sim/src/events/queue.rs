//! The event queue: future events in order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::time::{Duration, Time};

/// The events to come, and the clock, which stands at the last one that was taken out.
///
/// Events of the same time happen in the order in which they were scheduled, so that nothing but the schedule decides
/// how a simulation goes. An event cannot be cancelled: its owner gives it a number, and ignores it by that.
#[derive(Debug)]
pub struct EventQueue<E> {
    now: Time,
    scheduled: u64,
    events: BinaryHeap<Entry<E>>,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { now: Time::START, scheduled: 0, events: BinaryHeap::new() }
    }
}

impl<E> EventQueue<E> {
    /// The time of the event that was taken out last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// `event` happens at `at`, or now if that has passed.
    pub fn at(&mut self, at: Time, event: E) {
        self.scheduled += 1;
        self.events.push(Entry { at: at.max(self.now), number: self.scheduled, event });
    }

    /// `event` happens after `delay`.
    pub fn after(&mut self, delay: Duration, event: E) {
        self.at(self.now + delay, event);
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Time> {
        self.events.peek().map(|entry| entry.at)
    }

    /// The next event; the clock goes there.
    pub fn pop(&mut self) -> Option<E> {
        let entry = self.events.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }

    /// The next event, if it is not later than `until`. If there is none, the clock goes to `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<E> {
        if self.next_at().is_some_and(|at| at <= until) {
            return self.pop();
        }
        self.now = self.now.max(until);
        None
    }

    /// Number of events scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

/// The earliest is the greatest, as a heap wants it.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_time_and_those_of_one_time_as_scheduled() {
        let mut queue = EventQueue::default();
        for (at, event) in [(30, 'd'), (10, 'a'), (20, 'b'), (20, 'c')] {
            queue.at(Time(at), event);
        }
        assert_eq!(queue.pop(), Some('a'));
        queue.at(Time(5), 'x');
        assert_eq!((queue.pop(), queue.now()), (Some('x'), Time(10)));
        queue.after(Duration(10), 'y');
        let rest: String = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, "bcyd");
    }

    #[test]
    fn the_clock_goes_as_far_as_is_asked() {
        let mut queue = EventQueue::default();
        queue.at(Time(10), ());
        assert_eq!((queue.pop_until(Time(9)), queue.now()), (None, Time(9)));
        assert_eq!((queue.pop_until(Time(20)), queue.now()), (Some(()), Time(10)));
        assert_eq!((queue.pop_until(Time(20)), queue.now()), (None, Time(20)));
    }
}
