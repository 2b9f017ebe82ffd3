//! Layout of the file of one rank.
//!
//! The tables follow the header in this order: calls, sizes, peers, call sites, modules, communicators, events ([`Layout`]).
//! Times are in nanoseconds of the monotonic clock unless stated otherwise.

use crate::{calls, sizes};

/// First word of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fp-rank1");

/// Words of the header.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// [`super::version`].
    pub const VERSION: usize = 1;
    /// Rank in MPI_COMM_WORLD.
    pub const RANK: usize = 2;
    /// Number of ranks in MPI_COMM_WORLD.
    pub const RANKS: usize = 3;
    /// Process ID.
    pub const PID: usize = 4;
    /// Time of day when MPI was initialized.
    pub const STARTED_REALTIME: usize = 5;
    /// Monotonic time when MPI was initialized.
    pub const STARTED: usize = 6;
    /// Time of the last end of an MPI call.
    pub const LAST: usize = 7;
    /// See [`crate::read::State`].
    pub const STATE: usize = 8;
    /// Error code passed to MPI_Abort.
    pub const ABORT_CODE: usize = 9;
    /// The call in which the process is, plus one; 0: none. The tables do not count a call before it returns.
    pub const CURRENT_CALL: usize = 10;
    /// Time when [`CURRENT_CALL`] began.
    pub const CURRENT_SINCE: usize = 11;
    /// Return address of [`CURRENT_CALL`].
    pub const CURRENT_CALLER: usize = 12;
    /// Time in MPI, of all threads, while recording was on.
    pub const IN_MPI: usize = 13;
    /// Total time for which MPI_Pcontrol switched recording off.
    pub const PAUSED: usize = 14;
    /// Maximum number of threads in MPI at one time.
    pub const THREADS: usize = 15;
    /// Time for which requests were in progress while the program was outside MPI: communication that overlaps computation.
    pub const HIDDEN: usize = 16;
    /// Time for which the program waited in MPI for requests.
    pub const WAITED: usize = 17;
    /// Number of requests not recorded, as their table was full.
    pub const LOST_REQUESTS: usize = 18;
    /// Number of calls whose call site was not recorded, as the table was full.
    pub const LOST_SITES: usize = 19;
    /// Number of communicators not recorded, as their table was full.
    pub const LOST_COMMUNICATORS: usize = 20;
    /// Number of events in the table.
    pub const EVENTS: usize = 21;
    /// Binary logarithm of the sampling interval: one of 2^x messages is in the table of events.
    pub const SAMPLING: usize = 22;
    /// Four words, with the columns of [`peer`](super::peer): messages to and from ranks outside MPI_COMM_WORLD.
    pub const FOREIGN: usize = 23;
    /// Identifies the MPI_COMM_WORLD: equal on all its ranks, different in other jobs; 0: unknown.
    pub const WORLD: usize = 27;
    /// Name of the host.
    pub const HOST: std::ops::Range<usize> = 32..40;
    /// Boot ID of the machine.
    pub const BOOT: std::ops::Range<usize> = 40..45;
    /// `fishplate_host::HostId` of the host; 0 in files of earlier versions.
    pub const HOST_ID: usize = 45;
    /// Inode number of the time namespace; 0: unknown.
    pub const TIME_NAMESPACE: usize = 46;
    /// Path of the program.
    pub const PROGRAM: std::ops::Range<usize> = 48..80;
    /// Text of MPI_Get_library_version.
    pub const LIBRARY: std::ops::Range<usize> = 80..112;
    /// Number of words.
    pub const WORDS: usize = 112;
}

/// Columns of the table of calls.
pub mod call {
    /// Number of calls.
    pub const COUNT: usize = 0;
    /// Total time in the calls.
    pub const TIME: usize = 1;
    /// Time of the longest call.
    pub const LONGEST: usize = 2;
    /// Bytes sent by the calls.
    pub const SENT: usize = 3;
    /// Bytes received by the calls.
    pub const RECEIVED: usize = 4;
    /// Number of calls that failed.
    pub const ERRORS: usize = 5;
    /// Number of columns.
    pub const COLUMNS: usize = 6;
}

/// The table of sizes: for each kind of messages and each size class, the number of messages and their bytes.
pub mod size {
    /// Sent to one rank.
    pub const SENT: usize = 0;
    /// Received from one rank.
    pub const RECEIVED: usize = 1;
    /// Sent by this rank in collective operations.
    pub const COLLECTIVE: usize = 2;
    /// One-sided: put, got and accumulated.
    pub const ONE_SIDED: usize = 3;
    /// Read from and written to files.
    pub const FILE: usize = 4;
    /// Number of kinds.
    pub const KINDS: usize = 5;
    /// Number of columns: messages, bytes.
    pub const COLUMNS: usize = 2;
}

/// Columns of the table of peers, by rank in MPI_COMM_WORLD; also of [`header::FOREIGN`].
pub mod peer {
    /// Number of messages sent to the peer.
    pub const SENT: usize = 0;
    /// Bytes of the messages sent.
    pub const SENT_BYTES: usize = 1;
    /// Number of messages received from the peer.
    pub const RECEIVED: usize = 2;
    /// Bytes of the messages received.
    pub const RECEIVED_BYTES: usize = 3;
    /// Number of columns.
    pub const COLUMNS: usize = 4;
}

/// The table of call sites. Unused entries have a [`site::CALL`] of 0. One more row sums the calls for which there was no
/// entry left. The counts have the order of the table of calls.
pub mod site {
    /// Number of entries: more than large programs use.
    pub const CAPACITY: usize = 4096;
    /// Number of the call, plus one.
    pub const CALL: usize = 0;
    /// Return address of the call.
    pub const CALLER: usize = 1;
    /// Number of calls.
    pub const COUNT: usize = 2;
    /// Total time in the calls.
    pub const TIME: usize = 3;
    /// Time of the longest call.
    pub const LONGEST: usize = 4;
    /// Bytes sent.
    pub const SENT: usize = 5;
    /// Bytes received.
    pub const RECEIVED: usize = 6;
    /// Number of columns.
    pub const COLUMNS: usize = 7;
}

/// The table of modules: the program and the libraries that contain call sites.
pub mod module {
    /// Entries.
    pub const CAPACITY: usize = 64;
    /// Load address; 0: no entry.
    pub const BASE: usize = 0;
    /// Path of the file.
    pub const FILE: std::ops::Range<usize> = 1..33;
    /// Number of columns.
    pub const COLUMNS: usize = 33;
}

/// The table of communicators.
pub mod communicator {
    /// Number of entries. Communicators beyond it share the last one.
    pub const CAPACITY: usize = 1024;
    /// Identifier, equal on all ranks of the communicator; 0: no entry.
    pub const ID: usize = 0;
    /// Number of ranks.
    pub const RANKS: usize = 1;
    /// Number of calls on the communicator, without waits.
    pub const CALLS: usize = 2;
    /// Total time in the calls.
    pub const TIME: usize = 3;
    /// Bytes sent.
    pub const SENT: usize = 4;
    /// Bytes received.
    pub const RECEIVED: usize = 5;
    /// Name set by the last MPI_Comm_set_name, or the name at first use.
    pub const NAME: std::ops::Range<usize> = 6..10;
    /// Number of columns.
    pub const COLUMNS: usize = 10;
}

/// The table of events: messages and collective operations, for comparison with the events of other ranks.
pub mod event {
    /// Number of entries. When the table is full every second one is dropped, the same ones on all ranks.
    pub const CAPACITY: usize = 32768;
    /// Bits 0-7: a kind below. From bit 8 on: number of the call that posted it. Also [`IS_ROOT`].
    pub const KIND: usize = 0;
    /// Hash that identifies the stream of messages, or the communicator.
    pub const KEY: usize = 1;
    /// Serial number within the stream or communicator.
    pub const NUMBER: usize = 2;
    /// Time when it was posted.
    pub const POSTED: usize = 3;
    /// Time when the call began that completed it.
    pub const WAITED: usize = 4;
    /// Time of completion.
    pub const DONE: usize = 5;
    /// Number of columns.
    pub const COLUMNS: usize = 6;

    /// A message was sent.
    pub const SEND: u64 = 1;
    /// A send completed that did not complete at once.
    pub const SENT: u64 = 2;
    /// A message was received.
    pub const RECEIVE: u64 = 3;
    /// A collective operation.
    pub const COLLECTIVE: u64 = 4;
    /// This rank is the root.
    pub const IS_ROOT: u64 = 1 << 40;
}

/// Offsets of the tables in a file, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of ranks in MPI_COMM_WORLD.
    pub ranks: usize,
    /// Table of calls.
    pub calls: usize,
    /// Table of sizes.
    pub sizes: usize,
    /// Table of peers.
    pub peers: usize,
    /// Table of call sites.
    pub sites: usize,
    /// Table of modules.
    pub modules: usize,
    /// Table of communicators.
    pub communicators: usize,
    /// Table of events.
    pub events: usize,
    /// Length of the file.
    pub words: usize,
}

impl Layout {
    /// Layout for a job of `ranks` ranks.
    pub fn new(ranks: usize) -> Layout {
        let calls = header::WORDS;
        let sizes = calls + calls::table().len() * call::COLUMNS;
        let peers = sizes + size::KINDS * sizes::CLASSES * size::COLUMNS;
        let sites = peers + ranks * peer::COLUMNS;
        let modules = sites + (site::CAPACITY + 1) * site::COLUMNS;
        let communicators = modules + module::CAPACITY * module::COLUMNS;
        let events = communicators + communicator::CAPACITY * communicator::COLUMNS;
        let words = events + event::CAPACITY * event::COLUMNS;
        Layout { ranks, calls, sizes, peers, sites, modules, communicators, events, words }
    }

    /// Offset of the number of messages of a kind and size class; their bytes are in the next word.
    pub fn size(&self, kind: usize, class: usize) -> usize {
        self.sizes + (kind * sizes::CLASSES + class) * size::COLUMNS
    }
}

/// Version of the format: changes with the layout and with the table of calls.
pub fn version() -> u64 {
    calls::table_version().rotate_left(1) ^ Layout::new(1).words as u64
}
