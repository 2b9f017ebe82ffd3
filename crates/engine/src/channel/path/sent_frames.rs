//! Frames that were sent, and those of them that one acknowledgement covers.

use crate::time::Instant;

/// A frame that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    /// When.
    pub at: Instant,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Bytes that queued before the bottleneck then, with its own.
    pub queued: u64,
}

impl SentFrame {
    /// Nothing.
    const NONE: SentFrame = SentFrame { at: Instant(0), bytes: 0, queued: 0 };

    /// Whether the path had nothing else to carry.
    pub fn found_path_idle(&self) -> bool {
        self.queued == self.bytes
    }
}

/// Frames that one acknowledgement covers, sent back to back: each before those before it had passed. They begin after
/// the last pause of the sender within them, if there was one.
#[derive(Clone, Copy, Debug)]
pub struct AckedFrames {
    /// The oldest of all.
    pub oldest: SentFrame,
    /// When the first was sent.
    pub first: Instant,
    /// The last.
    pub newest: SentFrame,
    /// Their length, in bytes.
    pub bytes: u64,
    /// There was a pause before the first.
    pub after_pause: bool,
}

impl AckedFrames {
    /// None yet.
    pub const NONE: AckedFrames = AckedFrames {
        oldest: SentFrame::NONE,
        first: Instant(0),
        newest: SentFrame::NONE,
        bytes: 0,
        after_pause: false,
    };

    /// The next one.
    pub fn add(&mut self, frame: &SentFrame) {
        if self.oldest.bytes == 0 {
            self.oldest = *frame;
        }
        if frame.found_path_idle() {
            *self = AckedFrames { first: frame.at, newest: *frame, bytes: frame.bytes, after_pause: true, ..*self };
            return;
        }
        self.newest = *frame;
        self.first = if self.bytes == 0 { frame.at } else { self.first.min(frame.at) };
        self.bytes += frame.bytes;
    }
}
