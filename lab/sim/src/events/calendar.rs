//! The event calendar of a simulation: events by time, the earliest first, those of one time in the order in which they
//! were entered, so that nothing but the entries decides how a simulation goes. An event cannot be cancelled: its owner
//! gives it a number, and ignores it by that.
//!
//! A hierarchical timing wheel: times are numbers of `DIGIT_BITS` bits a digit, and an event waits in the slot of the
//! highest digit in which its time differs from the clock's. When the clock reaches a slot, its events move to slots of
//! lower digits, in order. So an event is moved at most once for each digit, however many events there are. Events of
//! one time are always in one slot, so they keep their order.

use super::time::{Duration, Moment, Time};

/// Bits of a digit: a slot for each value, and a word that says which have events.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// End of a list.
const NONE: u32 = u32::MAX;

/// The virtual clock with its pending events.
pub struct Calendar<T, E> {
    now: T,
    entered: u64,
    /// Lower bound of the times of all events; the slots are relative to it.
    reached: u64,
    nodes: Vec<Node<E>>,
    /// First free node.
    free: u32,
    /// Bit mask of the digits that have events.
    digits: u32,
    /// By digit: bit mask of the slots that have events.
    used: [u64; DIGITS],
    slots: Box<[[Slot; SLOTS]; DIGITS]>,
}

/// An event in a list.
struct Node<E> {
    at: u64,
    next: u32,
    event: E,
}

/// A list of events.
#[derive(Clone, Copy)]
struct Slot {
    first: u32,
    last: u32,
}

const EMPTY: Slot = Slot { first: NONE, last: NONE };

impl<T: Moment, E> Default for Calendar<T, E> {
    fn default() -> Self {
        Calendar {
            now: T::default(),
            entered: 0,
            reached: 0,
            nodes: Vec::new(),
            free: NONE,
            digits: 0,
            used: [0; DIGITS],
            slots: Box::new([[EMPTY; SLOTS]; DIGITS]),
        }
    }
}

impl<T: Moment, E: Copy> Calendar<T, E> {
    /// Time of the last event taken, or until which none was to be taken.
    pub fn now(&self) -> T {
        self.now
    }

    /// Number of events entered so far.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// `event` happens at `at`, or now if that has passed.
    pub fn enter(&mut self, at: T, event: E) {
        self.entered += 1;
        let node = Node { at: at.max(self.now).number(), next: NONE, event };
        let name = self.free;
        if let Some(free) = self.nodes.get_mut(name as usize) {
            self.free = free.next;
            *free = node;
            self.append(name);
        } else {
            self.nodes.push(node);
            self.append(self.nodes.len() as u32 - 1);
        }
    }

    /// The next event; time moves on to it.
    pub fn advance(&mut self) -> Option<E> {
        self.next(u64::MAX)
    }

    /// The next event, if it is not later than `until`; time moves on to it, or to `until` if there is none.
    pub fn advance_until(&mut self, until: T) -> Option<E> {
        let event = self.next(until.number());
        if event.is_none() {
            self.now = self.now.max(until);
        }
        event
    }

    fn next(&mut self, until: u64) -> Option<E> {
        while self.digits != 0 {
            let digit = self.digits.trailing_zeros() as usize;
            let value = self.used[digit].trailing_zeros() as usize;
            let slot = self.slots[digit][value];
            let at = self.nodes[slot.first as usize].at;
            let is_first = digit == 0 || slot.first == slot.last;
            let earliest = if is_first { at } else { begins(at, digit) };
            if earliest > until {
                return None;
            }
            if is_first {
                return Some(self.take_first(digit, value));
            }
            self.descend(digit, value);
        }
        None
    }

    /// Takes the first event of a slot, which is the earliest of all.
    fn take_first(&mut self, digit: usize, value: usize) -> E {
        let name = self.slots[digit][value].first;
        let node = &mut self.nodes[name as usize];
        let (at, event) = (node.at, node.event);
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = name;
        if next == NONE {
            self.empty(digit, value);
        } else {
            self.slots[digit][value].first = next;
        }
        (self.now, self.reached) = (T::of(at), at);
        event
    }

    /// The clock has reached a slot: moves its events to slots of lower digits.
    fn descend(&mut self, digit: usize, value: usize) {
        let mut name = self.slots[digit][value].first;
        self.empty(digit, value);
        self.reached = begins(self.nodes[name as usize].at, digit);
        while name != NONE {
            let next = std::mem::replace(&mut self.nodes[name as usize].next, NONE);
            self.append(name);
            name = next;
        }
    }

    fn empty(&mut self, digit: usize, value: usize) {
        self.slots[digit][value] = EMPTY;
        self.used[digit] &= !(1 << value);
        if self.used[digit] == 0 {
            self.digits &= !(1 << digit);
        }
    }

    /// Puts a node behind the others of its slot.
    fn append(&mut self, name: u32) {
        let at = self.nodes[name as usize].at;
        let differs = (at ^ self.reached) | 1;
        let digit = (differs.ilog2() / DIGIT_BITS) as usize;
        let value = (at >> (DIGIT_BITS * digit as u32)) as usize % SLOTS;
        let slot = &mut self.slots[digit][value];
        let last = std::mem::replace(&mut slot.last, name);
        if last == NONE {
            slot.first = name;
            self.used[digit] |= 1 << value;
            self.digits |= 1 << digit;
        } else {
            self.nodes[last as usize].next = name;
        }
    }
}

impl<E: Copy> Calendar<Time, E> {
    /// `event` happens after `delay`.
    pub fn after(&mut self, delay: Duration, event: E) {
        self.enter(self.now + delay, event);
    }
}

/// The first moment of the slot that `at` is in: lower digits are 0.
fn begins(at: u64, digit: usize) -> u64 {
    at >> (DIGIT_BITS * digit as u32) << (DIGIT_BITS * digit as u32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::events::Random;

    #[test]
    fn events_come_in_time_and_those_of_one_time_as_entered() {
        let mut random = Random::stream(1, "calendar");
        let (mut calendar, mut expected) = (Calendar::<Time, u64>::default(), BTreeSet::new());
        for event in 0..100_000_u64 {
            // Some due immediately, some simultaneous, some far in the future.
            let ahead = random.of_any_size(1 << 40) & !random.of_any_size(1 << 20);
            let at = Time(calendar.now().0 + ahead);
            calendar.enter(at, event);
            expected.insert((at, event));
            while random.percent(49) {
                let until = Time(calendar.now().0 + random.of_any_size(1 << 41));
                let next = expected.first().copied().filter(|(at, _)| *at <= until);
                next.iter().for_each(|next| _ = expected.remove(next));
                assert_eq!(calendar.advance_until(until), next.map(|(_, event)| event));
                assert_eq!(calendar.now(), next.map_or(until, |(at, _)| at));
            }
        }
        while let Some((at, event)) = expected.pop_first() {
            assert_eq!((calendar.advance(), calendar.now()), (Some(event), at));
        }
        assert_eq!((calendar.advance(), calendar.entered()), (None, 100_000));
    }

    #[test]
    fn what_is_late_happens_now_and_the_end_of_time_comes_last() {
        let mut calendar = Calendar::default();
        calendar.enter(Time(u64::MAX), 'z');
        calendar.enter(Time(100), 'a');
        assert_eq!(calendar.advance(), Some('a'));
        calendar.enter(Time(7), 'b');
        assert_eq!((calendar.advance(), calendar.now()), (Some('b'), Time(100)));
        calendar.after(Duration(5), 'c');
        assert_eq!((calendar.advance(), calendar.now()), (Some('c'), Time(105)));
        assert_eq!((calendar.advance(), calendar.advance()), (Some('z'), None));
    }

    #[test]
    fn the_clock_goes_as_far_as_is_asked() {
        let mut calendar = Calendar::default();
        calendar.enter(Time(10), ());
        assert_eq!((calendar.advance_until(Time(9)), calendar.now()), (None, Time(9)));
        assert_eq!((calendar.advance_until(Time(20)), calendar.now()), (Some(()), Time(10)));
        assert_eq!((calendar.advance_until(Time(20)), calendar.now()), (None, Time(20)));
    }
}
