//! The contents of the file of one rank.

use fishplate_host::HostId;
use serde::{Deserialize, Serialize};

use crate::sizes::CLASSES;

/// How far a rank got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is running, or ended without MPI_Finalize.
    Running,
    /// It called MPI_Finalize.
    Finalized,
    /// It called MPI_Abort with this error code.
    Aborted(i32),
}

impl State {
    /// [`State::Running`] in a file.
    pub const RUNNING: u64 = 1;
    /// [`State::Finalized`] in a file.
    pub const FINALIZED: u64 = 2;
    /// [`State::Aborted`] in a file; the error code is in another word.
    pub const ABORTED: u64 = 3;
}

/// The contents of the file of one rank.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its rank in MPI_COMM_WORLD.
    pub rank: usize,
    /// Number of ranks in MPI_COMM_WORLD.
    pub ranks: usize,
    /// Name of its host.
    pub host: String,
    /// Identifies its host.
    pub host_id: HostId,
    /// Identifies its monotonic clock: ranks with equal values share one.
    pub clock: String,
    /// Process ID.
    pub pid: u64,
    /// Path of its program.
    pub program: String,
    /// Text of MPI_Get_library_version.
    pub library: String,
    /// How far the rank got.
    pub state: State,
    /// Time of day when MPI was initialized. All other times are of the monotonic clock.
    pub started_realtime_ns: u64,
    /// Monotonic time when MPI was initialized.
    pub started_ns: u64,
    /// Time of the last end of an MPI call.
    pub last_ns: u64,
    /// The call in which the rank was when it ended.
    pub current: Option<Current>,
    /// Time in MPI, of all threads.
    pub in_mpi_ns: u64,
    /// Total time for which recording was off.
    pub paused_ns: u64,
    /// Maximum number of threads in MPI at one time.
    pub threads: u64,
    /// Time for which requests were in progress while the program was outside MPI: communication that overlaps computation.
    pub hidden_ns: u64,
    /// Time for which the program waited in MPI for requests.
    pub waited_ns: u64,
    /// Entries not recorded, as their table was full.
    pub lost: Lost,
    /// Binary logarithm of the sampling interval: one of 2^x messages is in `events`.
    pub sampling: u32,
    /// Messages to and from ranks outside MPI_COMM_WORLD.
    pub foreign: Traffic,
    /// See [`crate::rank_file::header::WORLD`].
    pub world: u64,
    /// By the number of the call.
    pub calls: Vec<Counts>,
    /// How many calls failed, by the number of the call.
    pub errors: Vec<u64>,
    /// By kind ([`crate::rank_file::size`]) and class: number of messages and bytes.
    pub sizes: Vec<[(u64, u64); CLASSES]>,
    /// By rank in MPI_COMM_WORLD.
    pub peers: Vec<Traffic>,
    /// Places where the program calls MPI.
    pub sites: Vec<Site>,
    /// Program and libraries that contain the call sites.
    pub modules: Vec<Module>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Messages and collective operations.
    pub events: Vec<Event>,
}

/// Numbers of entries that were not recorded, as their table was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Requests.
    pub requests: u64,
    /// Call sites.
    pub sites: u64,
    /// Communicators.
    pub communicators: u64,
}

/// A call that did not return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Number of the call.
    pub call: usize,
    /// When the call began.
    pub since_ns: u64,
    /// Return address of the call.
    pub caller: u64,
}

/// Counts of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of calls.
    pub count: u64,
    /// Total time in the calls.
    pub time_ns: u64,
    /// Time of the longest call.
    pub longest_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Counts) {
        self.count = self.count.saturating_add(other.count);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
    }
}

/// Messages between a rank and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Number of messages sent.
    pub sent: u64,
    /// Bytes of the messages sent.
    pub sent_bytes: u64,
    /// Number of messages received.
    pub received: u64,
    /// Bytes of the messages received.
    pub received_bytes: u64,
}

/// A place in the program that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Number of the call.
    pub call: usize,
    /// Return address of the call.
    pub caller: u64,
    /// Counts of the calls from this place.
    pub counts: Counts,
}

/// A program or library mapped by a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Load address.
    pub base: u64,
    /// Path of its file.
    pub file: String,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// Identifier, equal on all its ranks.
    pub id: u64,
    /// Its name; empty for none.
    pub name: String,
    /// Number of ranks.
    pub size: u64,
    /// Number of calls on the communicator, without waits.
    pub calls: u64,
    /// Total time in the calls.
    pub time_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A message or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// A kind of [`crate::rank_file::event`].
    pub kind: u64,
    /// Number of the call that posted it.
    pub call: usize,
    /// Whether this rank is its root.
    pub is_root: bool,
    /// Hash that identifies the stream of messages, or the communicator.
    pub key: u64,
    /// Serial number within the stream or communicator.
    pub number: u64,
    /// When it was posted.
    pub posted_ns: u64,
    /// When the call began that completed it.
    pub waited_ns: u64,
    /// When it completed.
    pub done_ns: u64,
}
