//! TCP acknowledgements, from this side's kernel: how many bytes of a link's stream the peer's kernel has.
//!
//! The peer's engine acknowledges frames when its process is in MPI, and its acknowledgements queue behind its own data.
//! Its kernel acknowledges bytes whatever the process does.

use std::collections::VecDeque;

use fishplate_engine::Instant;

/// Frames with less payload, in bytes, are not tracked: they do not show a path's rate.
const MIN_PAYLOAD: u64 = 4 << 10;
/// Tracked frames, at most; the peer's engine acknowledges the others.
const MAX_TRACKED: usize = 256;

/// Frames of a stream that the peer's kernel has not acknowledged.
#[derive(Debug, Default)]
pub struct KernelAcks {
    /// For each its number, counted from 1, and the offset of its end in the stream, in bytes.
    tracked: VecDeque<(u32, u64)>,
    /// When the kernel was queried last.
    pub queried_at: Instant,
    /// It is in the endpoint's list of links with such frames.
    pub listed: bool,
}

impl KernelAcks {
    /// Frame number `frames`, with `payload` bytes, ends at offset `end`. True if it is tracked.
    pub fn track(&mut self, frames: u32, payload: u64, end: u64) -> bool {
        let is_tracked = payload >= MIN_PAYLOAD && self.tracked.len() < MAX_TRACKED;
        if is_tracked {
            self.tracked.push_back((frames, end));
        }
        is_tracked
    }

    /// The peer's kernel has acknowledged `bytes` of the stream. Returns the number of the last whole frame, if that is news.
    pub fn acknowledged(&mut self, bytes: u64) -> Option<u32> {
        let count = self.tracked.partition_point(|(_, end)| *end <= bytes);
        self.tracked.drain(..count).next_back().map(|(frames, _)| frames)
    }

    /// Whether any frame is tracked.
    pub fn is_waiting(&self) -> bool {
        !self.tracked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_delivered_once_their_last_byte_is() {
        let mut acks = KernelAcks::default();
        assert!(!acks.track(1, 8, 64));
        assert!(acks.track(2, 8192, 8300) && acks.track(3, 8192, 16600));
        assert_eq!((acks.acknowledged(8299), acks.acknowledged(8300)), (None, Some(2)));
        assert_eq!((acks.is_waiting(), acks.acknowledged(20_000), acks.is_waiting()), (true, Some(3), false));
    }

    #[test]
    fn there_is_a_bound() {
        let mut acks = KernelAcks::default();
        let tracked = (0..2 * MAX_TRACKED as u32).filter(|frame| acks.track(*frame, 8192, u64::from(*frame))).count();
        assert_eq!(tracked, MAX_TRACKED);
    }
}
