//! Serial numbers of messages, equal at sender and receiver.
//!
//! Messages between two ranks with the same communicator and tag match in the order in which they were posted (MPI-4.1,
//! section 3.5). So both sides can number them independently.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

/// Limit of the number of streams; messages of further streams are not recorded as events.
const MAX_STREAMS: usize = 1 << 16;

/// Side of a message: a message of a rank to itself has both sides in one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Sender,
    Receiver,
}

/// Next number by stream and side.
#[derive(Default)]
pub struct MessageNumbers {
    next: FxHashMap<(u64, Side), u64>,
}

/// Key of the stream of a message: its communicator's ID, both ranks in MPI_COMM_WORLD, and its tag. Equal on both sides.
pub fn stream(communicator: u64, from: usize, to: usize, tag: i32) -> u64 {
    hash((communicator, from, to, tag))
}

/// Hash of a value, equal in all processes.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl MessageNumbers {
    /// The number of the next message of a stream; `None` if there are too many streams.
    pub fn next(&mut self, stream: u64, side: Side) -> Option<u64> {
        if let Some(next) = self.next.get_mut(&(stream, side)) {
            *next += 1;
            return Some(*next);
        }
        if self.next.len() == MAX_STREAMS {
            return None;
        }
        self.next.insert((stream, side), 0);
        Some(0)
    }

    /// Reverts the last [`MessageNumbers::next`] of a stream, as its message was cancelled.
    pub fn take_back(&mut self, stream: u64, side: Side) {
        match self.next.get_mut(&(stream, side)) {
            Some(0) => drop(self.next.remove(&(stream, side))),
            Some(next) => *next -= 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_apart() {
        let mut numbers = MessageNumbers::default();
        let (there, back) = (stream(7, 0, 1, 5), stream(7, 1, 0, 5));
        assert_ne!(there, back);
        assert_eq!(
            [numbers.next(there, Side::Sender), numbers.next(there, Side::Sender), numbers.next(back, Side::Sender)],
            [Some(0), Some(1), Some(0)]
        );
    }

    #[test]
    fn messages_of_a_rank_to_itself_are_counted_on_both_sides() {
        let mut numbers = MessageNumbers::default();
        let own = stream(7, 1, 1, 5);
        for number in 0..3 {
            assert_eq!(numbers.next(own, Side::Sender), Some(number));
            assert_eq!(numbers.next(own, Side::Receiver), Some(number));
        }
        numbers.take_back(own, Side::Receiver);
        assert_eq!([numbers.next(own, Side::Receiver), numbers.next(own, Side::Sender)], [Some(2), Some(3)]);
    }

    #[test]
    fn the_number_of_streams_is_bounded() {
        let mut numbers = MessageNumbers::default();
        assert!((0..MAX_STREAMS as u64).all(|stream| numbers.next(stream, Side::Sender).is_some()));
        assert_eq!(numbers.next(u64::MAX, Side::Sender), None);
        assert_eq!(numbers.next(0, Side::Sender), Some(1));
    }
}
