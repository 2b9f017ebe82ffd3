//! A frame on its way.

use std::cmp::Ordering;

use crate::time::Instant;

/// A frame that waits to be sent or flies.
#[derive(Debug)]
pub struct Frame<T> {
    /// Nothing for a frame that gets lost: it takes its time on the wire all the same.
    pub token: Option<T>,
    pub wire_bytes: u32,
    /// When its last bit leaves.
    pub departs: Instant,
    /// When it arrives, in order.
    pub due: Instant,
    /// What chance adds to its delay.
    pub jitter_ns: u64,
    /// How long it is held back beyond `due`, for those behind to pass.
    pub hold_ns: u64,
    /// If a bit of it is changed, a random number that says which.
    pub flip: Option<u64>,
}

/// A frame that is held back; the earliest is the greatest, as a heap wants it.
#[derive(Debug)]
pub struct Held<T> {
    pub due: Instant,
    /// Tells frames of the same time apart, in the order of their coming.
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
