//! The event calendar of a simulation: events by time, the earliest first, those of one time in the order in which they
//! were entered.
//!
//! A hierarchical timing wheel: times are numbers of `DIGIT_BITS` bits a digit, and an event waits in the slot of the
//! highest digit in which its time differs from the clock's. When the clock reaches a slot, its events move to slots of
//! lower digits, in order. So an event is moved at most once for each digit, however many events there are. Events of
//! one time are always in one slot, so they keep their order.

use super::time::Time;

/// Bits of a digit: a slot for each value, and a word that says which have events.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// End of a list.
const NONE: u32 = u32::MAX;

/// The virtual clock with its pending events.
pub struct Calendar<E> {
    now: Time,
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

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        Calendar {
            now: Time::default(),
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

impl<E: Copy> Calendar<E> {
    /// Time of the last event taken.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events entered so far.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// `event` happens at `at`, or now if that has passed.
    pub fn enter(&mut self, at: Time, event: E) {
        self.entered += 1;
        let node = Node { at: at.later(self.now).0, next: NONE, event };
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
        loop {
            if self.digits == 0 {
                return None;
            }
            let digit = self.digits.trailing_zeros() as usize;
            let value = self.used[digit].trailing_zeros() as usize;
            let slot = self.slots[digit][value];
            if digit == 0 || slot.first == slot.last {
                return Some(self.take_first(digit, value));
            }
            self.descend(digit, value);
        }
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
        (self.now, self.reached) = (Time(at), at);
        event
    }

    /// The clock has reached a slot: moves its events to slots of lower digits.
    fn descend(&mut self, digit: usize, value: usize) {
        let mut name = self.slots[digit][value].first;
        self.empty(digit, value);
        // The slot's first moment: lower digits are 0.
        self.reached = self.nodes[name as usize].at >> (DIGIT_BITS * digit as u32) << (DIGIT_BITS * digit as u32);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::events::Random;

    #[test]
    fn events_come_in_time_and_those_of_one_time_as_entered() {
        let mut random = Random::stream(1, "calendar");
        let (mut calendar, mut expected) = (Calendar::default(), BTreeSet::new());
        for event in 0..100_000_u64 {
            // Some due immediately, some simultaneous, some far in the future.
            let ahead = random.of_any_size(1 << 40) & !random.of_any_size(1 << 20);
            let at = Time(calendar.now().0 + ahead);
            calendar.enter(at, event);
            expected.insert((at, event));
            while random.percent(49) {
                let next = expected.pop_first();
                assert_eq!(calendar.advance(), next.map(|(_, event)| event));
                assert!(next.is_none_or(|(at, _)| at == calendar.now()));
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
        assert_eq!((calendar.advance(), calendar.advance()), (Some('z'), None));
    }
}
