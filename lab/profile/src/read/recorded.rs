//! The contents of the file of one rank.

use fishplate_host::{Host, HostId};

use crate::calls;
use crate::rank_file::size;
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
    /// Entries not recorded, as their table was full: requests, call sites, communicators.
    pub lost: [u64; 3],
    /// Binary logarithm of the sampling interval: one of 2^x messages is in `events`.
    pub sampling: u32,
    /// Messages to and from ranks outside MPI_COMM_WORLD.
    pub foreign: Peer,
    /// See [`crate::rank_file::header::WORLD`].
    pub world: u64,
    /// By the number of the call.
    pub calls: Vec<CallCounts>,
    /// By kind ([`crate::rank_file::size`]) and class: number of messages and bytes.
    pub sizes: Vec<[(u64, u64); CLASSES]>,
    /// By rank in MPI_COMM_WORLD.
    pub peers: Vec<Peer>,
    /// Places where the program calls MPI.
    pub sites: Vec<Site>,
    /// Program and libraries that contain the call sites.
    pub modules: Vec<Module>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Messages and collective operations.
    pub events: Vec<Event>,
}

impl Rank {
    /// A finalized rank of `ranks` without any calls: base of synthetic profiles.
    pub fn idle(rank: usize, ranks: usize) -> Rank {
        Rank {
            rank,
            ranks,
            host: String::new(),
            host_id: Host::default().id(),
            clock: String::new(),
            pid: 0,
            program: String::new(),
            library: String::new(),
            state: State::Finalized,
            started_realtime_ns: 0,
            started_ns: 0,
            last_ns: 0,
            current: None,
            in_mpi_ns: 0,
            paused_ns: 0,
            threads: 1,
            hidden_ns: 0,
            waited_ns: 0,
            lost: [0; 3],
            sampling: 0,
            foreign: Peer::default(),
            world: 0,
            calls: vec![CallCounts::default(); calls::table().len()],
            sizes: vec![[(0, 0); CLASSES]; size::KINDS],
            peers: vec![Peer::default(); ranks],
            sites: Vec::new(),
            modules: Vec::new(),
            communicators: Vec::new(),
            events: Vec::new(),
        }
    }
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

/// Counts of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
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
    /// Number of calls that failed.
    pub errors: u64,
}

/// Messages between a rank and one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Number of messages sent to the peer.
    pub sent: u64,
    /// Bytes of the messages sent.
    pub sent_bytes: u64,
    /// Number of messages received from the peer.
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
    pub counts: CallCounts,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Identifier, equal on all its ranks.
    pub id: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Its name.
    pub name: String,
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
