//! What one rank has recorded.

use fishplate_host::{Host, HostId};

use crate::calls;
use crate::rank_file::size;
use crate::sizes::CLASSES;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was still running, or has ended without MPI_Finalize.
    Running,
    /// It has called MPI_Finalize.
    Finalized,
    /// It has called MPI_Abort with this code.
    Aborted(i32),
}

impl State {
    /// As it is in files.
    pub const RUNNING: u64 = 1;
    /// As it is in files.
    pub const FINALIZED: u64 = 2;
    /// As it is in files; the code is apart.
    pub const ABORTED: u64 = 3;
}

/// What one rank has recorded.
#[derive(Clone, Debug)]
pub struct Rank {
    /// In MPI_COMM_WORLD.
    pub rank: usize,
    /// Ranks in it.
    pub ranks: usize,
    /// Name of its host.
    pub host: String,
    /// Its host.
    pub host_id: HostId,
    /// Ranks with the same one have the same clock.
    pub clock: String,
    /// Its process.
    pub pid: u64,
    /// Its program.
    pub program: String,
    /// Its MPI library.
    pub library: String,
    /// How far it has come.
    pub state: State,
    /// When MPI was initialized: nanoseconds of the time of day, and of the monotonic clock that all else is in.
    pub started_realtime_ns: u64,
    /// See [`Rank::started_realtime_ns`].
    pub started_ns: u64,
    /// When it was last seen in MPI.
    pub last_ns: u64,
    /// The call in which it was when it ended.
    pub current: Option<Current>,
    /// Time in MPI, of all threads.
    pub in_mpi_ns: u64,
    /// Time for which recording was off.
    pub paused_ns: u64,
    /// Most threads that were in MPI at once.
    pub threads: u64,
    /// Time that requests were under way while the program was not in MPI.
    pub hidden_ns: u64,
    /// Time that it waited for requests.
    pub waited_ns: u64,
    /// What found no place: requests, call sites, communicators.
    pub lost: [u64; 3],
    /// One of 2^this messages is in the events.
    pub sampling: u32,
    /// Messages of ranks that are not in MPI_COMM_WORLD.
    pub foreign: Peer,
    /// See [`crate::rank_file::header::WORLD`].
    pub world: u64,
    /// By the number of the call.
    pub calls: Vec<CallCounts>,
    /// By [`crate::rank_file::size`] and class: number and bytes.
    pub sizes: Vec<[(u64, u64); CLASSES]>,
    /// By rank in MPI_COMM_WORLD.
    pub peers: Vec<Peer>,
    /// Where the program calls MPI.
    pub sites: Vec<Site>,
    /// What those places are in.
    pub modules: Vec<Module>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Messages and collective operations.
    pub events: Vec<Event>,
}

impl Rank {
    /// One of `ranks` that has done nothing and come to its end: what is made up begins with it.
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

/// The call that a rank is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Number of the call.
    pub call: usize,
    /// Since when.
    pub since_ns: u64,
    /// The address that it returns to.
    pub caller: u64,
}

/// Counts of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Number of calls.
    pub count: u64,
    /// Time in them.
    pub time_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// How many have failed.
    pub errors: u64,
}

/// Messages between a rank and another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Messages to it.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages from it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

/// A place in the program that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Number of the call.
    pub call: usize,
    /// The address that it returns to.
    pub caller: u64,
    /// What it has done.
    pub counts: CallCounts,
}

/// A program or library in the memory of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Where it begins.
    pub base: u64,
    /// Its file.
    pub file: String,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// The same on all its ranks.
    pub id: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Its name.
    pub name: String,
    /// Calls on it.
    pub calls: u64,
    /// Time in them.
    pub time_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A message or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// See [`crate::rank_file::event`].
    pub kind: u64,
    /// Number of the call.
    pub call: usize,
    /// Whether this rank is its root.
    pub is_root: bool,
    /// Which stream of messages, or which communicator.
    pub key: u64,
    /// Which one of it.
    pub number: u64,
    /// When it was posted.
    pub posted_ns: u64,
    /// When the call began that has completed it.
    pub waited_ns: u64,
    /// When it was complete.
    pub done_ns: u64,
}
