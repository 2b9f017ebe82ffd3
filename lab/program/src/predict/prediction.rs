//! Prediction for a program on a network.

use fishplate_sim::replay::CriticalPath;
use serde::{Deserialize, Serialize};

use super::limits::Limits;
use crate::profile::Profile;

/// A hypothetical change of a network or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    None,
    /// Twice the rate of all links.
    Bandwidth,
    /// Half the latency of links, switches, adapters, buses and timers.
    Latency,
    /// Half the time of the library and the kernel for a message.
    Software,
    /// Half the time of computation.
    Computation,
}

impl Change {
    /// Those that something is changed by.
    pub const ALL: [Change; 4] = [Change::Bandwidth, Change::Latency, Change::Software, Change::Computation];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Change::None => "as it is",
            Change::Bandwidth => "twice the bandwidth",
            Change::Latency => "half the latency",
            Change::Software => "half the software",
            Change::Computation => "faster processors (x2)",
        }
    }
}

/// How long a program takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub network: String,
    pub stack: String,
    /// Until the last rank has ended, in seconds.
    pub run_s: f64,
    /// Time that ranks compute, the mean, in seconds.
    pub computed_s: f64,
    /// Time in MPI, the mean, in seconds.
    pub communication_s: f64,
    /// Limits of the run time.
    pub limits: Limits,
    /// Messages on the critical path.
    pub path_messages: u64,
    /// How long the program takes with one thing changed, in seconds.
    pub changed_s: Vec<(Change, f64)>,
    /// Calls that were replayed.
    pub calls: u64,
    /// Events of the simulation.
    pub events: u64,
    /// For a page, if that is asked for.
    #[serde(skip)]
    pub detail: Option<Box<Detail>>,
}

impl Prediction {
    /// Gain of a change, as a part of the run time.
    pub fn gain(&self, changed_s: f64) -> String {
        format!("{:+.1} %", (changed_s / self.run_s - 1.0) * 100.0)
    }
}

/// A run that never happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Profile of the replay.
    pub profile: Profile,
    pub path: CriticalPath,
}
