//! A frame on a link.

use std::cmp::Ordering;

use crate::time::Instant;

/// A frame that waits to be sent, is being sent or propagates.
#[derive(Debug)]
pub struct Frame<T> {
    /// `None` for a frame that will be lost: it still takes its time on the wire.
    pub token: Option<T>,
    pub wire_bytes: u32,
    /// When its last bit leaves.
    pub departs: Instant,
    /// When it arrives, unless held back.
    pub due: Instant,
    /// Random addition to its delay.
    pub jitter_ns: u64,
    /// How long it is held back beyond `due`, so that later frames overtake it.
    pub hold_ns: u64,
    /// Set if one of its bits is flipped: a random number that selects the bit.
    pub flip: Option<u64>,
}

/// A frame that is held back. The earliest compares as the greatest, so that `BinaryHeap` pops it first.
#[derive(Debug)]
pub struct Held<T> {
    pub due: Instant,
    /// Serial number: orders frames of equal `due`.
    pub number: u64,
    pub wire_bytes: u32,
    pub token: T,
    pub flip: Option<u64>,
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Held<T> {}
