//! Measurements and estimates of a subchannel's path: rate, round trip, one-way delay, congestion window, bytes in flight.
//!
//! [`estimate::Estimate`] is the face: the subchannel tells it of frames sent and acknowledged, the driver of what the
//! kernel has measured ([`Path`]), and the scheduler asks it when a frame would arrive. The other files hold one
//! quantity each. No file here knows of messages, credit or policies.

mod burst;
mod congestion_window;
pub mod estimate;
mod in_flight;
mod lateness;
mod packet_train;
pub use packet_train::TimeRange;
pub mod peer_clock;
mod port_share;
pub use port_share::{PortBytes, PortShare};
pub mod rate;
pub mod rate_probe;
mod round_trip;
pub mod sent_frames;

use crate::ids::RailId;
use crate::time::Instant;

/// A driver's measurements of a subchannel's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Smoothed round trip time, in nanoseconds; 0: not known.
    pub rtt_ns: u64,
    /// Least round trip time, in nanoseconds; 0: not known.
    pub min_rtt_ns: u64,
    /// Delivery rate, in bytes per second, if it was not the sender that limited it.
    pub delivery_rate: Option<f64>,
    /// Bytes that may be in flight at a time (the congestion window); `u64::MAX`: not known.
    pub window: u64,
}

/// Estimates of a subchannel's path, for display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathEstimate {
    /// The rail that the path begins at.
    pub rail: RailId,
    /// Smoothed round trip time, in nanoseconds; 0: not known.
    pub rtt_ns: u64,
    /// Least round trip time of late, in nanoseconds; 0: not known.
    pub min_rtt_ns: u64,
    /// Estimated rate, in bytes per second.
    pub rate: f64,
    /// When the rate was measured last; the origin of time: never.
    pub measured_at: Instant,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// Bytes that may be in flight at a time; `u64::MAX`: not known.
    pub window: u64,
}
