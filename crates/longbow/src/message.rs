//! What is said between an emulator and who drives it: a line of JSON each.

use fishplate_link::{Counters, Settings};
use serde::{Deserialize, Serialize};

use crate::plan::Direction;

/// What an emulator is asked, after its plan. Each request has one response, in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Change one direction of a rail now. Answered by [`Response::Done`].
    Set {
        /// Name of the rail.
        rail: String,
        /// Which way.
        direction: Direction,
        /// All that the link is to be from now on.
        settings: Settings,
    },
    /// Tell counters. Answered by [`Response::Status`].
    Status {
        /// Count queue peaks and lateness anew from now on.
        reset: bool,
    },
}

/// What an emulator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// To the plan: all rails work.
    Ready(Ready),
    /// It is done.
    Done,
    /// What was counted.
    Status(Status),
    /// Why it could not be done. After a plan the emulator ends; after a request it goes on.
    Error(String),
}

/// What is particular about an emulator on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Whether it runs ahead of ordinary processes (SCHED_FIFO). If not, frames are late while others compute.
    pub realtime: bool,
    /// What is not emulated, or not as exactly, in sentences for the user.
    pub notes: Vec<String>,
}

/// What an emulator has counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Seconds since it was ready.
    pub running_s: f64,
    /// Seconds of processor time that it took in all, as a program.
    pub user_s: f64,
    /// Seconds of processor time that the kernel took for it in all. With NFQUEUE this includes what the receiving
    /// host's network stack does with the packets.
    pub system_s: f64,
    /// Times that it woke up since it was ready.
    pub wakeups: u64,
    /// All directions of all rails.
    pub lanes: Vec<LaneStatus>,
}

impl Status {
    /// Share of one core that was taken since `earlier`, 0 to 1.
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
    /// What it is asked to be.
    pub settings: Settings,
    /// Frames and bytes. An offload frame counts as one frame, and with the bytes of the packets that it stands for.
    pub counters: Counters,
    /// Frames on the link now.
    pub frames: u64,
    /// Bytes that wait to be sent now.
    pub waiting_bytes: u64,
    /// Packets of which a bit was changed.
    #[serde(default)]
    pub flipped_bits: u64,
    /// Times that the machine, not the model, lost frames: the emulator did not keep up, or an interface was down.
    pub mishaps: u64,
    /// How late frames were delivered.
    pub lateness: Lateness,
}

/// How long after their time frames were delivered; below zero if before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Frames measured.
    pub frames: u64,
    /// Their mean in nanoseconds.
    pub mean_ns: f64,
    /// What 99 of 100 did not exceed, in nanoseconds, to a microsecond or 4.5 %.
    pub p99_ns: u64,
    /// The latest, in nanoseconds.
    pub max_ns: u64,
}
