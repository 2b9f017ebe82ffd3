//! Frames that were handed over, and those of them that one acknowledgement covers.

use crate::time::Instant;

/// A frame that was handed over.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Bytes that were under way then, with its own.
    pub queued: u64,
}

impl Sent {
    /// Nothing.
    const NOTHING: Sent = Sent { at: Instant(0), bytes: 0, queued: 0 };

    /// Whether the path had nothing else to carry.
    pub fn is_alone(&self) -> bool {
        self.queued == self.bytes
    }
}

/// Frames that one acknowledgement covers, of which each was handed over before the path had carried those before: since a
/// pause of the sender, if there was one.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// The oldest of all.
    pub oldest: Sent,
    /// When the first was handed over.
    pub first: Instant,
    /// The last.
    pub newest: Sent,
    /// Their length, in bytes.
    pub bytes: u64,
    /// There was a pause before the first.
    pub after_pause: bool,
}

impl Acked {
    /// None yet.
    pub const NOTHING: Acked =
        Acked { oldest: Sent::NOTHING, first: Instant(0), newest: Sent::NOTHING, bytes: 0, after_pause: false };

    /// The next one.
    pub fn add(&mut self, frame: &Sent) {
        if self.oldest.bytes == 0 {
            self.oldest = *frame;
        }
        if frame.is_alone() {
            *self = Acked { first: frame.at, newest: *frame, bytes: frame.bytes, after_pause: true, ..*self };
            return;
        }
        self.newest = *frame;
        self.first = if self.bytes == 0 { frame.at } else { self.first.min(frame.at) };
        self.bytes += frame.bytes;
    }
}
