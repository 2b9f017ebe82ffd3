//! Messages between an emulator and the process that controls it: one line of JSON each.

use fishplate_link::{Counters, Settings};
use serde::{Deserialize, Serialize};

use crate::plan::Direction;

/// A request to an emulator after its plan. Each request has one response, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Change one direction of a rail now. Answered by [`Response::Done`].
    Set {
        /// Name of the rail.
        rail: String,
        /// Which way.
        direction: Direction,
        /// The new settings, which replace all earlier ones.
        settings: Settings,
    },
    /// Return the counters. Answered by [`Response::Status`].
    Status {
        /// Restart the measurement of queue peaks and lateness.
        reset: bool,
    },
}

/// A response of an emulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// Response to the plan: all rails work.
    Ready(Ready),
    /// The request was carried out.
    Done,
    /// The counters.
    Status(Status),
    /// Why the request failed. After a plan the emulator ends; after another request it continues.
    Error(String),
}

/// Restrictions of an emulator on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Whether it has real-time priority (SCHED_FIFO). Without, frames are late while other processes compute.
    pub realtime: bool,
    /// Properties that are not emulated, or less exactly, in sentences for the user.
    pub notes: Vec<String>,
}

/// Counters of an emulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Seconds since [`Response::Ready`].
    pub running_s: f64,
    /// Processor time in user mode, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds. With NFQUEUE it includes the packet processing of the receiving host's network
    /// stack.
    pub system_s: f64,
    /// Number of wake-ups since [`Response::Ready`].
    pub wakeups: u64,
    /// All directions of all rails.
    pub lanes: Vec<LaneStatus>,
}

impl Status {
    /// Share of one core used since `earlier`, 0 to 1.
    pub fn core_share_since(&self, earlier: &Status) -> f64 {
        let busy = self.user_s + self.system_s - earlier.user_s - earlier.system_s;
        busy / (self.running_s - earlier.running_s).max(f64::MIN_POSITIVE)
    }
}

/// One direction of a rail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneStatus {
    /// Name of the rail.
    pub rail: String,
    /// Which way.
    pub direction: Direction,
    /// Its settings.
    pub settings: Settings,
    /// Counters of the link. An offload frame counts as one frame, with the bytes of all packets that it stands for.
    pub counters: Counters,
    /// Frames on the link now.
    pub frames: u64,
    /// Bytes in the queue now.
    pub waiting_bytes: u64,
    /// Number of packets of which a bit was flipped.
    #[serde(default)]
    pub flipped_bits: u64,
    /// Number of times that frames were lost against the model: the emulator did not keep up, or an interface was down.
    pub mishaps: u64,
    /// How late frames were delivered.
    pub lateness: Lateness,
}

/// Delay between due time and delivery of frames; negative if delivered early.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Frames measured.
    pub frames: u64,
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile in nanoseconds, accurate to a microsecond or 4.5 %.
    pub p99_ns: u64,
    /// Maximum in nanoseconds.
    pub max_ns: u64,
}
