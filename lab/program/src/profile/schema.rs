//! The contents of a profile, as in records (docs/guide/profile.md). Times are in nanoseconds, sizes in bytes.

use fishplate_host::{Host, HostId};
pub use fishplate_profile::read::{Communicator, Counts, Lost, Traffic};
use serde::{Deserialize, Serialize};

use super::packed;

/// Name of the schema in records.
pub const SCHEMA: &str = "fishplate-profile/1";

/// A profile of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of Fishplate.
    pub fishplate: String,
    /// The command; empty where it is not known.
    pub command: Vec<String>,
    /// Start time in UTC, as in RFC 3339.
    pub started: String,
    /// Its exit code as a shell reports it; `None` where it is not known.
    pub exit_code: Option<u8>,
    /// MPI programs: each MPI_COMM_WORLD is one, in the order in which they began.
    pub worlds: Vec<World>,
    /// Network interfaces of hosts, over time.
    pub hosts: Vec<Series>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<String>,
    /// Where there are no programs: why, as far as it could be found out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}

/// A program: the ranks of one MPI_COMM_WORLD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// Number of ranks that there were.
    pub size: usize,
    /// Files of the program, several where ranks differ.
    pub programs: Vec<String>,
    /// Version text of its MPI library.
    pub library: String,
    /// How the clocks of machines differ.
    pub clocks: Vec<Clock>,
    /// Where the program calls MPI.
    pub places: Vec<Place>,
    /// Ranks that have recorded something, in order.
    pub ranks: Vec<Rank>,
    /// Where some have not: which, and why, as far as it was found out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
}

/// The clock of machines that share one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Their names.
    pub hosts: Vec<String>,
    /// To be subtracted to have the time of the first clock.
    pub ahead_ns: i64,
    /// By how much that may be wrong; nothing where no messages went both ways and the time of day was taken.
    pub uncertainty_ns: Option<u64>,
}

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// File of the program or library.
    pub module: String,
    /// Address in it.
    pub offset: u64,
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// Recording of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// In MPI_COMM_WORLD.
    pub rank: usize,
    /// Name of its host, with a number where several hosts have one name.
    pub host: String,
    /// Which host that is; records of before do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    /// Its process there.
    pub pid: u64,
    /// How far it has come.
    pub end: End,
    /// Time of day when MPI was initialized.
    pub started_ns: u64,
    /// From then until it was last seen.
    pub run_ns: u64,
    /// Time in MPI, of all threads.
    pub in_mpi_ns: u64,
    /// Time for which MPI_Pcontrol had switched recording off.
    pub paused_ns: u64,
    /// Most threads that were in MPI at once.
    pub threads: u64,
    /// Time that requests were under way while the program was not in MPI.
    pub hidden_ns: u64,
    /// Time that it waited for requests.
    pub waited_ns: u64,
    /// Of the time in MPI, what it waited for others.
    pub late: Late,
    /// Numbers of entries without a place in its tables.
    pub lost: Lost,
    pub calls: Vec<Call>,
    /// By place.
    pub sites: Vec<Site>,
    pub sizes: Vec<Size>,
    /// By the other rank.
    pub peers: Vec<Peer>,
    /// With ranks that are not in MPI_COMM_WORLD.
    pub foreign: Traffic,
    pub communicators: Vec<Communicator>,
    /// Over time.
    pub series: Option<Series>,
}

/// How a rank has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It has called MPI_Finalize.
    Finalized,
    /// It has called MPI_Abort with this code.
    Aborted(i32),
    /// It has ended without either, or was still running.
    Unfinished {
        /// The call that it was in.
        call: Option<String>,
        /// Where that is: a position in the places of the world.
        place: Option<usize>,
        /// How long it had been in the call, or out of MPI.
        for_ns: u64,
    },
}

/// Time that a rank has waited for others, estimated from the events that it has recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// For senders that had not sent yet.
    pub sender_ns: u64,
    /// For receivers that had not posted their receive yet.
    pub receiver_ns: u64,
    /// For ranks that had not come to a collective operation yet.
    pub collective_ns: u64,
    /// Events that this rests on.
    pub events: u64,
    /// Events whose other side has recorded nothing.
    pub unmatched: u64,
    /// One of 2^this events was recorded.
    pub sampling: u32,
}

/// A function of MPI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// `MPI_...`.
    pub call: String,
    #[serde(flatten)]
    pub counts: Counts,
    /// How many have failed.
    pub errors: u64,
    /// Of the time in them, what was spent waiting for others.
    pub late_ns: u64,
}

/// A place that calls MPI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// `MPI_...`.
    pub call: String,
    /// Position in the places of the world.
    pub place: usize,
    #[serde(flatten)]
    pub counts: Counts,
}

/// Which way data went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Sent to one rank.
    Sent,
    /// Received from one.
    Received,
    /// Bytes that a collective operation sends for this rank.
    Collective,
    /// Put, got and accumulated.
    OneSided,
    /// Read from files and written to them.
    File,
}

/// Messages of one class of sizes: from a power of two up to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Which way they went.
    pub way: Way,
    /// The least size of the class.
    pub least: u64,
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Messages with another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The other rank.
    pub rank: usize,
    /// Messages.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// Numbers over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the host that it was recorded on, as with ranks.
    pub host: String,
    /// Which host that is; records of before do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    /// Length of a step.
    pub step_ns: u64,
    /// Time of day of the first step, in steps.
    pub first_step: u64,
    /// Whether the disk was full before the end.
    pub is_cut: bool,
    /// The counted quantity.
    pub columns: Vec<Column>,
}

/// A number for each step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Events that it counts.
    pub name: String,
    #[serde(with = "packed")]
    pub data: Vec<u32>,
}

impl Late {
    /// For whatever reason.
    pub fn total_ns(&self) -> u64 {
        self.sender_ns.saturating_add(self.receiver_ns).saturating_add(self.collective_ns)
    }
}

impl World {
    /// A number of each rank, added up.
    pub fn total(&self, of: impl Fn(&Rank) -> u64) -> u64 {
        sum(self.ranks.iter().map(of))
    }
}

/// A sum that does not wrap: a file may hold any numbers.
pub fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

impl Rank {
    /// Its host: by its name where the record does not tell more.
    pub fn host_id(&self) -> HostId {
        self.host_id.unwrap_or_else(|| Host::named(&self.host).id())
    }

    /// Bytes that its calls have sent.
    pub fn sent(&self) -> u64 {
        sum(self.calls.iter().map(|call| call.counts.sent))
    }

    /// Time outside of MPI.
    pub fn outside_ns(&self) -> u64 {
        self.run_ns.saturating_sub(self.paused_ns).saturating_sub(self.in_mpi_ns)
    }

    /// Time in MPI that was not spent waiting for others.
    pub fn transfer_ns(&self) -> u64 {
        self.in_mpi_ns.saturating_sub(self.late.total_ns())
    }
}

impl Place {
    /// In a few words: file and line, function, or the address in a module.
    pub fn short(&self) -> String {
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
        match (&self.file, &self.function) {
            (Some(file), _) => format!("{}:{}", name(file), self.line.unwrap_or(0)),
            (None, Some(function)) => format!("{function} in {}", name(&self.module)),
            (None, None) if self.module.is_empty() => format!("{:#x}", self.offset),
            (None, None) => format!("{}+{:#x}", name(&self.module), self.offset),
        }
    }
}

impl Series {
    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }
}
