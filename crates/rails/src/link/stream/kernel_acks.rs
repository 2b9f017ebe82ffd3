//! What the peer's kernel has of a link's stream, as this side's kernel knows.
//!
//! The peer's process acknowledges frames when it is in MPI, and its acknowledgements wait behind whatever it sends itself.
//! Its kernel does so whatever the process does.

use std::collections::VecDeque;

use fishplate_engine::Instant;

/// Frames with less payload, in bytes, are not looked for: they tell nothing of a path's rate.
const LEAST_PAYLOAD: u64 = 4 << 10;
/// Most frames that are looked for; the peer's acknowledgements tell of the others.
const MOST_MARKS: usize = 256;

/// Frames of a stream that are on their way to the peer's kernel.
#[derive(Debug, Default)]
pub struct Delivery {
    /// For each, how many counted frames there were, itself included, and where it ends in the stream, in bytes.
    marks: VecDeque<(u32, u64)>,
    /// When the kernel was asked last.
    pub asked_at: Instant,
    /// In the endpoint's list of links that have such frames.
    pub listed: bool,
}

impl Delivery {
    /// A frame with so much payload, the last of `frames`, ends at `end`. True if it is looked for.
    pub fn mark(&mut self, frames: u32, payload: u64, end: u64) -> bool {
        let is_marked = payload >= LEAST_PAYLOAD && self.marks.len() < MOST_MARKS;
        if is_marked {
            self.marks.push_back((frames, end));
        }
        is_marked
    }

    /// The peer's kernel has so many bytes of the stream. How many frames that is, if it is any more.
    pub fn delivered(&mut self, bytes: u64) -> Option<u32> {
        let count = self.marks.partition_point(|(_, end)| *end <= bytes);
        self.marks.drain(..count).next_back().map(|(frames, _)| frames)
    }

    /// Whether there are such frames.
    pub fn is_waiting(&self) -> bool {
        !self.marks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_delivered_once_their_last_byte_is() {
        let mut delivery = Delivery::default();
        assert!(!delivery.mark(1, 8, 64));
        assert!(delivery.mark(2, 8192, 8300) && delivery.mark(3, 8192, 16600));
        assert_eq!((delivery.delivered(8299), delivery.delivered(8300)), (None, Some(2)));
        assert_eq!((delivery.is_waiting(), delivery.delivered(20_000), delivery.is_waiting()), (true, Some(3), false));
    }

    #[test]
    fn there_is_a_bound() {
        let mut delivery = Delivery::default();
        let marked = (0..2 * MOST_MARKS as u32).filter(|frame| delivery.mark(*frame, 8192, u64::from(*frame))).count();
        assert_eq!(marked, MOST_MARKS);
    }
}
