//! The lines of a record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::testbed::Burst;

/// Name of the schema in the manifest. The number behind the slash is the major version.
pub const SCHEMA: &str = "fishplate-record/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// The first line, and only that.
    Manifest(Box<Manifest>),
    /// A link: asked and measured.
    Link(Link),
    Sample(Sample),
    /// The traffic of each rail in a cell.
    Rails(Rails),
    /// Something of the matrix that cannot be measured.
    Skipped(Skipped),
    /// A cell is complete.
    Cell(Completed),
    /// A published fact, and whether it holds here.
    Statement(Statement),
}

/// Under which conditions was measured, and what was to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of this program.
    pub fishplate: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Title of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub machine: Machine,
    /// Load of the machine over the last minute, before anything was started.
    pub load: f64,
    /// Stacks in the order in which they take turns.
    pub stacks: Vec<Stack>,
    /// Stack that the others are compared with; the first unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub links: Vec<String>,
    pub benchmarks: Vec<Benchmark>,
    /// How often each stack has its turn.
    pub rounds: u32,
    /// Seeds of all that is random, by what they are for.
    #[serde(default)]
    pub seeds: BTreeMap<String, u64>,
    /// Other options.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
}

/// The machine of the measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Processors that the system shows.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Name and release of the kernel.
    pub kernel: String,
    /// Name of the host.
    pub hostname: String,
}

/// A stack of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Name, as in the other lines.
    pub name: String,
    /// Version text of its library.
    pub version: String,
}

/// A benchmark of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Name, as in the other lines.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Horizontal axis of its charts; absent: the message size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<String>,
    /// Unit of a horizontal axis that is an option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis_unit: Option<String>,
}

/// A link: rails side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name, as in the other lines.
    pub name: String,
    pub rails: Vec<Rail>,
    /// Part of one processor that the emulator took while the link was measured.
    pub emulator_cpu: Option<f64>,
    /// Storage that programs had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// As it was asked for.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version of its first package; empty where it has none.
    #[serde(default)]
    pub version: String,
    /// Hosts that serve it.
    pub servers: u32,
}

/// A rail of a link. Absent values were not configured, or not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rail {
    pub name: String,
    /// Asked rate in Mbit/s; absent: as fast as it goes.
    pub rate_mbit: Option<f64>,
    /// Asked delay one way in microseconds.
    pub delay_us: Option<f64>,
    /// Asked part of the packets that are lost, 0 to 1.
    pub loss: Option<f64>,
    /// Asked part of the packets of which a bit is changed, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<f64>,
    /// Asked length of the longest packet that comes through, in bytes.
    pub path_mtu: Option<u32>,
    /// Asked length of the queue in bytes.
    pub queue_bytes: Option<u64>,
    /// Asked bursts, where they are not the usual ones.
    #[serde(default, skip_serializing_if = "Burst::is_default")]
    pub burst: Burst,
    /// Measured rate in Mbit/s.
    pub measured_mbit: Option<f64>,
    pub round_trip_us: Option<RoundTrip>,
}

/// A measured round trip, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    pub mean: f64,
    /// 99 of 100 are no longer.
    pub p99: f64,
}

/// The better direction of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times.
    Lower,
    /// Rates.
    Higher,
}

/// One stack on one link with one benchmark in one round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    pub stack: String,
    pub link: String,
    pub benchmark: String,
    /// Round, from 0.
    pub round: u32,
}

/// One value of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub stack: String,
    pub link: String,
    pub benchmark: String,
    /// Round, from 0.
    pub round: u32,
    /// Ranks.
    pub ranks: u32,
    /// Message size in bytes, where there is one.
    pub size_bytes: Option<u64>,
    /// The measured quantity.
    pub metric: String,
    pub unit: String,
    /// The better direction; absent: by the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    pub value: f64,
    /// Values of single iterations: `min`, `p50`, `p90`, `p99`, `max`, `mean`.
    pub percentiles: Option<BTreeMap<String, f64>>,
    /// Iterations behind the value.
    pub iterations: Option<u64>,
    /// Whether every byte was compared.
    #[serde(default)]
    pub checked: bool,
    /// Options of the benchmark, equal for all stacks.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
}

/// The traffic of each rail in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rails {
    #[serde(flatten)]
    pub cell: Cell,
    pub rails: Vec<RailShare>,
    /// Length of the steps of what went over time, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
}

/// The traffic of one rail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RailShare {
    pub name: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Messages and stripes of messages sent.
    pub messages: u64,
    /// Part of all bytes, 0 to 1.
    pub share: f64,
    /// TCP segments sent again.
    pub retransmitted: u64,
    /// Bytes a second while the rail was in use.
    pub rate_bytes_per_s: f64,
    /// Bytes sent in each step, where that was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent_over_time: Vec<u64>,
}

/// Something of the matrix that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skipped {
    pub stack: String,
    pub link: String,
    pub benchmark: String,
    /// Why, in words.
    pub reason: String,
}

/// A cell of the matrix that is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    #[serde(flatten)]
    pub cell: Cell,
    /// Load of the machine over the last minute.
    pub load: f64,
    /// Part of one processor that the emulator took.
    pub emulator_cpu: Option<f64>,
    /// How long it took.
    pub seconds: f64,
}

/// A published fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Its number, such as `W10`.
    pub id: String,
    /// The published statement.
    pub text: String,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// Why, in words.
    pub why: String,
    /// The values that decided, by name.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
}

/// Whether a published fact holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does, and could hardly do otherwise where it was measured.
    ByConstruction,
    /// It does not.
    DoesNotHold,
    /// Not with what was measured.
    CannotBeTested,
}

impl Verdict {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::ByConstruction => "holds by construction",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotBeTested => "cannot be tested",
        }
    }
}

impl Cell {
    /// Its first round.
    pub fn first(&self) -> Cell {
        Cell { round: 0, ..self.clone() }
    }

    /// In place of its values.
    pub fn skipped(&self, reason: String) -> Line {
        let Cell { stack, link, benchmark, .. } = self.clone();
        Line::Skipped(Skipped { stack, link, benchmark, reason })
    }
}

impl Sample {
    /// Options but those that were not given, which tell nothing apart.
    pub fn options_given(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.options.iter().filter(|(_, value)| !value.is_null() && **value != Value::Bool(false))
    }

    /// The better direction: that of the sample, if given; else times are better when lower, all other values when
    /// higher.
    pub fn better(&self) -> Better {
        let time = matches!(self.unit.as_str(), "ns" | "us" | "ms" | "s");
        self.better.unwrap_or(if time { Better::Lower } else { Better::Higher })
    }
}
