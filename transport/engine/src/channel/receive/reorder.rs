//! The reorder buffer: messages that overtook others on a faster subchannel wait for these.

use std::collections::VecDeque;

use crate::ids::MessageSeq;

/// Messages ahead of the expected one. Bounded by the peer's grant, to which every waiting message is charged.
pub struct Reorder<T> {
    expected: MessageSeq,
    /// Position `i` holds message `expected + 1 + i`.
    waiting: VecDeque<Option<T>>,
    window: u32,
}

/// A sequence number that has been seen, or lies farther ahead than any grant allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSequence;

impl<T> Reorder<T> {
    /// Expects message 0; messages up to `window` positions ahead can wait.
    pub fn new(window: u32) -> Self {
        Reorder { expected: MessageSeq(0), waiting: VecDeque::new(), window }
    }

    pub fn is_next(&self, seq: MessageSeq) -> bool {
        seq == self.expected
    }

    /// Whether `seq` is next, and no later message waits for it.
    pub fn is_only_next(&self, seq: MessageSeq) -> bool {
        seq == self.expected && self.waiting.is_empty()
    }

    /// Whether `seq` has been passed on already.
    pub fn is_past(&self, seq: MessageSeq) -> bool {
        seq.distance_from(self.expected) > u32::MAX / 2
    }

    /// Whether `seq` has come: it was passed on, or it waits here.
    pub fn has_received(&self, seq: MessageSeq) -> bool {
        let waiting = seq.distance_from(self.expected).checked_sub(1);
        let waits = waiting.and_then(|position| self.waiting.get(position as usize)).is_some_and(Option::is_some);
        waits || self.is_past(seq)
    }

    /// Whether `seq` is next, or near enough to wait here.
    pub fn is_in_window(&self, seq: MessageSeq) -> bool {
        seq.distance_from(self.expected) <= self.window
    }

    /// The next message has been taken. Returns the one that follows it, if it waits here; it is then next.
    pub fn advance(&mut self) -> Option<T> {
        self.expected = self.expected.next();
        self.waiting.pop_front().flatten()
    }

    /// Stores a message that is not next.
    pub fn store(&mut self, seq: MessageSeq, message: T) -> Result<(), BadSequence> {
        let distance = seq.distance_from(self.expected);
        if distance == 0 || distance > self.window {
            return Err(BadSequence);
        }
        let position = distance as usize - 1;
        if self.waiting.len() <= position {
            self.waiting.resize_with(position + 1, || None);
        }
        match &mut self.waiting[position] {
            Some(_) => Err(BadSequence),
            empty => {
                *empty = Some(message);
                Ok(())
            }
        }
    }

    /// Everything that waits, in order; the queue is then empty.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.drain(..).flatten()
    }

    /// Frees the memory of an empty queue.
    pub fn release_unused_memory(&mut self) {
        self.waiting.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds messages in the given order; returns the order in which they come out.
    fn feed(start: u32, order: &[u32]) -> Vec<u32> {
        let mut reorder = Reorder::new(1 << 16);
        reorder.expected = MessageSeq(start);
        let mut out = Vec::new();
        for offset in order {
            let seq = MessageSeq(start.wrapping_add(*offset));
            if !reorder.is_next(seq) {
                reorder.store(seq, *offset).unwrap();
                continue;
            }
            out.push(*offset);
            while let Some(message) = reorder.advance() {
                out.push(message);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn any_order_comes_out_in_sequence(start: u32, order in Just((0u32..60).collect::<Vec<_>>()).prop_shuffle()) {
            prop_assert_eq!(feed(start, &order), (0..60).collect::<Vec<_>>());
        }
    }

    #[test]
    fn wraps() {
        assert_eq!(feed(u32::MAX - 1, &[3, 1, 0, 2]), [0, 1, 2, 3]);
    }

    #[test]
    fn repeated_and_distant_numbers_are_refused() {
        let mut reorder = Reorder::new(10);
        reorder.store(MessageSeq(5), ()).unwrap();
        assert_eq!(reorder.store(MessageSeq(5), ()), Err(BadSequence));
        assert_eq!(reorder.store(MessageSeq(0), ()), Err(BadSequence));
        assert_eq!(reorder.store(MessageSeq(11), ()), Err(BadSequence));
        assert_eq!(reorder.store(MessageSeq(u32::MAX), ()), Err(BadSequence));
    }
}
