//! Layout of files of time series: a header, then for each time step one value of each column.
//!
//! The values are 32 bits wide and packed. A file grows while it is written; its header contains the number of steps.

/// First word of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fp-time1");

/// Length of a step. On all hosts, steps begin when the time of day is a multiple of it.
pub const STEP_NS: u64 = 10_000_000;

/// Maximum number of columns of a file.
pub const MAX_COLUMNS: usize = 64;

/// Words of the header.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Number of columns.
    pub const COLUMNS: usize = 1;
    /// Number of the first step: time of day, in steps.
    pub const FIRST_STEP: usize = 2;
    /// Number of steps.
    pub const STEPS: usize = 3;
    /// 1: further steps are missing, as the disk was full.
    pub const IS_CUT: usize = 4;
    /// Rank in MPI_COMM_WORLD, plus one; 0: the file is of a host.
    pub const RANK: usize = 5;
    /// `fishplate_host::HostId` of the host; 0 in files of earlier versions.
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

/// Columns of a rank's file. If the rank uses the provider, bytes sent and received by each of its rails follow.
pub mod rank_column {
    /// Microseconds in MPI.
    pub const IN_MPI_US: usize = 0;
    /// Bytes sent.
    pub const SENT: usize = 1;
    /// Bytes received.
    pub const RECEIVED: usize = 2;
    /// Names of the columns.
    pub const NAMES: [&str; 3] = ["MPI, us", "sent", "received"];
}
