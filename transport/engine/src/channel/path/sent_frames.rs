//! Frames that were sent, and those of them that one acknowledgement covers.

use crate::time::Instant;

/// A frame that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    /// When it was sent.
    pub at: Instant,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Bytes queued before the bottleneck at that time, its own included.
    pub queued: u64,
}

impl SentFrame {
    const NONE: SentFrame = SentFrame { at: Instant(0), bytes: 0, queued: 0 };

    /// Whether nothing was queued ahead of it.
    pub fn found_path_idle(&self) -> bool {
        self.queued == self.bytes
    }
}

/// Frames that one acknowledgement covers and that were sent back to back: each was sent before the ones ahead of it had passed
/// the bottleneck. Frames before the sender's last pause are left out, but for `oldest`.
#[derive(Clone, Copy, Debug)]
pub struct AckedFrames {
    /// The oldest frame that the acknowledgement covers.
    pub oldest: SentFrame,
    /// When the first frame after the last pause was sent.
    pub first: Instant,
    pub newest: SentFrame,
    /// Length of all from `first` on, in bytes.
    pub bytes: u64,
    /// The sender paused before `first`.
    pub after_pause: bool,
}

impl AckedFrames {
    pub const NONE: AckedFrames = AckedFrames {
        oldest: SentFrame::NONE,
        first: Instant(0),
        newest: SentFrame::NONE,
        bytes: 0,
        after_pause: false,
    };

    /// Adds the next acknowledged frame.
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
