//! Numbers of messages, so that sender and receiver mean the same one.
//!
//! Messages between two ranks with the same communicator and tag match in the order in which they were posted (MPI-4.1,
//! section 3.5). So both sides can count them alone.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

/// Streams that are counted; a program that uses more tags than this gets no events for the later ones.
const MAX_STREAMS: usize = 1 << 16;

/// Which side of a message is counted: what a rank sends itself has both in one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// It is sent.
    Sender,
    /// It is received.
    Receiver,
}

/// What has been counted so far.
#[derive(Default)]
pub struct MessageNumbers {
    next: FxHashMap<(u64, Side), u64>,
}

/// The stream that a message belongs to: its communicator's id, ranks in MPI_COMM_WORLD, tag; the same on both sides.
pub fn stream(communicator: u64, from: usize, to: usize, tag: i32) -> u64 {
    hash((communicator, from, to, tag))
}

/// A number for a value, the same in all processes.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl MessageNumbers {
    /// The number of the next message of a stream; nothing when there are too many streams.
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

    /// A message of a stream is none: the last number was not used.
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
    fn what_a_rank_sends_itself_is_counted_on_both_sides() {
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
