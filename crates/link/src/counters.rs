//! What a link has seen.

use serde::{Deserialize, Serialize};

/// Sums since the link was made. Offered is delivered, dropped, lost and what is still under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that arrived at their end.
    pub delivered_frames: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Frames for which the queue had no room.
    pub dropped_frames: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// Frames that got lost on the way.
    pub lost_frames: u64,
    /// Their bytes on the wire.
    pub lost_bytes: u64,
    /// Most bytes that ever waited to be sent.
    pub queue_peak_bytes: u64,
}
