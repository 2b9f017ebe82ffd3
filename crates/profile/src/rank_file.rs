//! The file of one rank: where which word is.
//!
//! The header says how long the tables are that follow it, in this order: calls, sizes, peers, call sites, modules,
//! communicators, events. Times are in nanoseconds of the monotonic clock unless they say otherwise.

use crate::{calls, sizes};

/// What the first word of a file is.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fp-rank1");

/// Words of the header.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// [`super::version`].
    pub const VERSION: usize = 1;
    /// Rank in MPI_COMM_WORLD.
    pub const RANK: usize = 2;
    /// Number of ranks in it.
    pub const RANKS: usize = 3;
    /// Process number on its host.
    pub const PID: usize = 4;
    /// The clocks when MPI was initialized: time of day, monotonic.
    pub const STARTED_REALTIME: usize = 5;
    /// See [`STARTED_REALTIME`].
    pub const STARTED: usize = 6;
    /// When the rank was last seen in MPI.
    pub const LAST: usize = 7;
    /// See [`crate::read::State`].
    pub const STATE: usize = 8;
    /// With which code it has called MPI_Abort.
    pub const ABORT_CODE: usize = 9;
    /// The call that the process is in, plus one; 0: none. The tables do not count it before it returns.
    pub const CURRENT_CALL: usize = 10;
    /// Since when.
    pub const CURRENT_SINCE: usize = 11;
    /// The address that it returns to.
    pub const CURRENT_CALLER: usize = 12;
    /// Time in MPI, of all threads, while recording was on.
    pub const IN_MPI: usize = 13;
    /// Time for which MPI_Pcontrol had switched recording off.
    pub const PAUSED: usize = 14;
    /// Most threads that were in MPI at once.
    pub const THREADS: usize = 15;
    /// Time that requests were under way while the program was not in MPI, and while it waited for them.
    pub const HIDDEN: usize = 16;
    /// See [`HIDDEN`].
    pub const WAITED: usize = 17;
    /// Requests, call sites, communicators that found no place.
    pub const LOST_REQUESTS: usize = 18;
    /// See [`LOST_REQUESTS`].
    pub const LOST_SITES: usize = 19;
    /// See [`LOST_REQUESTS`].
    pub const LOST_COMMUNICATORS: usize = 20;
    /// Number of events.
    pub const EVENTS: usize = 21;
    /// One of 2^this messages is in the events.
    pub const SAMPLING: usize = 22;
    /// Messages to and from ranks that are not in MPI_COMM_WORLD: sent, bytes, received, bytes.
    pub const FOREIGN: usize = 23;
    /// The same on all ranks of an MPI_COMM_WORLD, and another one in other programs; 0: nothing of that kind is known.
    pub const WORLD: usize = 27;
    /// Name of the host.
    pub const HOST: std::ops::Range<usize> = 32..40;
    /// What tells boots of machines apart.
    pub const BOOT: std::ops::Range<usize> = 40..45;
    /// Which host (`fishplate_host::HostId`); 0 in files of before.
    pub const HOST_ID: usize = 45;
    /// Inode number of the time namespace; 0: not known.
    pub const TIME_NAMESPACE: usize = 46;
    /// The program.
    pub const PROGRAM: std::ops::Range<usize> = 48..80;
    /// What the MPI library says of itself.
    pub const LIBRARY: std::ops::Range<usize> = 80..112;
    /// Number of words.
    pub const WORDS: usize = 112;
}

/// Columns of the table of calls.
pub mod call {
    /// Number of calls.
    pub const COUNT: usize = 0;
    /// Time in them.
    pub const TIME: usize = 1;
    /// The longest.
    pub const LONGEST: usize = 2;
    /// Bytes that they have sent.
    pub const SENT: usize = 3;
    /// Bytes that were received by them.
    pub const RECEIVED: usize = 4;
    /// How many have failed.
    pub const ERRORS: usize = 5;
    /// Number of columns.
    pub const COLUMNS: usize = 6;
}

/// The table of sizes: for each of these kinds of messages and each class of sizes, a number and bytes.
pub mod size {
    /// Sent to one rank.
    pub const SENT: usize = 0;
    /// Received from one.
    pub const RECEIVED: usize = 1;
    /// What a collective operation sends for this rank.
    pub const COLLECTIVE: usize = 2;
    /// Put, got and accumulated.
    pub const ONE_SIDED: usize = 3;
    /// Read from files and written to them.
    pub const FILE: usize = 4;
    /// Number of kinds.
    pub const KINDS: usize = 5;
    /// Number, bytes.
    pub const COLUMNS: usize = 2;
}

/// Columns of the table of peers, by rank in MPI_COMM_WORLD; also of [`header::FOREIGN`].
pub mod peer {
    /// Messages to it.
    pub const SENT: usize = 0;
    /// Their bytes.
    pub const SENT_BYTES: usize = 1;
    /// Messages from it.
    pub const RECEIVED: usize = 2;
    /// Their bytes.
    pub const RECEIVED_BYTES: usize = 3;
    /// Number of columns.
    pub const COLUMNS: usize = 4;
}

/// The table of call sites: no entry where CALL is 0. What is called at further places is in one more row, which tells
/// nothing.
pub mod site {
    /// Entries: more than large programs have.
    pub const CAPACITY: usize = 4096;
    /// The call, plus one.
    pub const CALL: usize = 0;
    /// The address that it returns to.
    pub const CALLER: usize = 1;
    /// Number of calls.
    pub const COUNT: usize = 2;
    /// Time in them.
    pub const TIME: usize = 3;
    /// The longest.
    pub const LONGEST: usize = 4;
    /// Bytes sent.
    pub const SENT: usize = 5;
    /// Bytes received.
    pub const RECEIVED: usize = 6;
    /// Number of columns.
    pub const COLUMNS: usize = 7;
}

/// The table of modules: programs and libraries that call sites are in.
pub mod module {
    /// Entries.
    pub const CAPACITY: usize = 64;
    /// Where it is loaded; 0: no entry.
    pub const BASE: usize = 0;
    /// Its file.
    pub const FILE: std::ops::Range<usize> = 1..33;
    /// Number of columns.
    pub const COLUMNS: usize = 33;
}

/// The table of communicators.
pub mod communicator {
    /// Entries. Later communicators share the last one.
    pub const CAPACITY: usize = 1024;
    /// The same on all its ranks; 0: no entry.
    pub const ID: usize = 0;
    /// Number of ranks.
    pub const RANKS: usize = 1;
    /// Calls on it, apart from waits.
    pub const CALLS: usize = 2;
    /// Time in them.
    pub const TIME: usize = 3;
    /// Bytes sent.
    pub const SENT: usize = 4;
    /// Bytes received.
    pub const RECEIVED: usize = 5;
    /// Its name when it was first used, or last named.
    pub const NAME: std::ops::Range<usize> = 6..10;
    /// Number of columns.
    pub const COLUMNS: usize = 10;
}

/// The table of events: messages and collective operations, to be held against those of other ranks.
pub mod event {
    /// Entries. When they are used up every second one is dropped, on all ranks the same ones.
    pub const CAPACITY: usize = 32768;
    /// One of the kinds below, with the call that has posted it in the bits from 8 on; and [`IS_ROOT`].
    pub const KIND: usize = 0;
    /// Which stream of messages, or which communicator.
    pub const KEY: usize = 1;
    /// Which one of it.
    pub const NUMBER: usize = 2;
    /// When it was posted.
    pub const POSTED: usize = 3;
    /// When the call began that has completed it.
    pub const WAITED: usize = 4;
    /// When it was complete.
    pub const DONE: usize = 5;
    /// Number of columns.
    pub const COLUMNS: usize = 6;

    /// A message was sent.
    pub const SEND: u64 = 1;
    /// A send that had to be waited for was complete.
    pub const SENT: u64 = 2;
    /// A message was received.
    pub const RECEIVE: u64 = 3;
    /// A collective operation.
    pub const COLLECTIVE: u64 = 4;
    /// This rank is the root.
    pub const IS_ROOT: u64 = 1 << 40;
}

/// Where the tables of a file are, in words.
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
    /// Of a job with so many ranks.
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

    /// Where the number of a kind and class of messages is; its bytes follow.
    pub fn size(&self, kind: usize, class: usize) -> usize {
        self.sizes + (kind * sizes::CLASSES + class) * size::COLUMNS
    }
}

/// A number that is another one when files are laid out otherwise, or hold other calls.
pub fn version() -> u64 {
    calls::table_version().rotate_left(1) ^ Layout::new(1).words as u64
}
