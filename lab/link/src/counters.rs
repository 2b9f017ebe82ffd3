//! Counters of a link.

use serde::{Deserialize, Serialize};

/// Sums since the link was created. Each offered frame is delivered, dropped, lost or still on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that arrived at their end.
    pub delivered_frames: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Frames dropped because the queue was full.
    pub dropped_frames: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// Frames lost on the wire.
    pub lost_frames: u64,
    /// Their bytes on the wire.
    pub lost_bytes: u64,
    /// Peak of the bytes waiting to be sent.
    pub queue_peak_bytes: u64,
}
