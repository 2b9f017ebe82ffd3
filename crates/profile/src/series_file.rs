//! Files of what changes over time: a header, then for each step in time a number for each column.
//!
//! The numbers are 32 bits wide and follow each other. A file grows while it is written; its header says how many steps
//! there are.

/// What the first word of a file is.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fp-time1");

/// Length of a step, in nanoseconds. Steps begin at multiples of it of the time of day, on all hosts.
pub const STEP_NS: u64 = 10_000_000;

/// Most columns of a file.
pub const MAX_COLUMNS: usize = 64;

/// Words of the header.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Number of columns.
    pub const COLUMNS: usize = 1;
    /// Number of the first step: time of day, in steps.
    pub const FIRST_STEP: usize = 2;
    /// How many steps there are.
    pub const STEPS: usize = 3;
    /// 1: the rest found no place on the disk.
    pub const IS_CUT: usize = 4;
    /// Rank in MPI_COMM_WORLD, plus one; 0: the file is of a host.
    pub const RANK: usize = 5;
    /// Which host (`fishplate_host::HostId`); 0 in files of before.
    pub const HOST_ID: usize = 6;
    /// Name of the host.
    pub const HOST: std::ops::Range<usize> = 8..16;
    /// Names of the columns, each of [`NAME_WORDS`] words.
    pub const NAMES: usize = 16;
    /// Words of a name.
    pub const NAME_WORDS: usize = 4;
    /// Number of words.
    pub const WORDS: usize = NAMES + super::MAX_COLUMNS * NAME_WORDS;
}

/// Columns of a rank's file. Where the rank uses Fishplate, bytes sent and received by each of its rails follow.
pub mod rank_column {
    /// Microseconds in MPI.
    pub const IN_MPI_US: usize = 0;
    /// Bytes sent.
    pub const SENT: usize = 1;
    /// Bytes received.
    pub const RECEIVED: usize = 2;
    /// Their names.
    pub const NAMES: [&str; 3] = ["MPI, us", "sent", "received"];
}
