//! The event calendar of a simulation: events by time, the earliest first, those of one time in the order in which they
//! were entered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::time::Time;

/// The virtual clock with what is to come.
pub struct Calendar<E> {
    now: Time,
    entered: u64,
    events: BinaryHeap<Reverse<Entry<E>>>,
}

struct Entry<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        Calendar { now: Time::default(), entered: 0, events: BinaryHeap::new() }
    }
}

impl<E> Calendar<E> {
    /// The time of the event that happened last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events that happened or are to happen.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// `event` happens at `at`, or now if that has passed.
    pub fn enter(&mut self, at: Time, event: E) {
        self.entered += 1;
        self.events.push(Reverse(Entry { at: at.later(self.now), number: self.entered, event }));
    }

    /// The next event; time moves on to it.
    pub fn advance(&mut self) -> Option<E> {
        let Reverse(entry) = self.events.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
