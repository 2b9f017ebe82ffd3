//! The traces of all ranks.

mod rank;
mod wildcards;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::operation::Operation;
use super::rank_file::{Header, TRACE};

/// What all ranks of a program did.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// By rank.
    pub ranks: Vec<RankTrace>,
}

/// What a rank did.
#[derive(Clone, Debug, PartialEq)]
pub struct RankTrace {
    /// Of which rank.
    pub header: Header,
    /// All that it does, each once.
    pub operations: Vec<Operation>,
    /// What it did, in order. Receives say from whom, as far as the trace does.
    pub steps: Vec<Step>,
    /// Whether it is there up to MPI_Finalize.
    pub is_whole: bool,
}

impl RankTrace {
    /// Whether threads of it were in MPI at once.
    pub fn has_threads_beside(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Operation::Thread { is_beside: true, .. }))
    }
}

/// A call, and the time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Place of what it does.
    pub operation: u32,
    /// Processor time of the thread since the call before, in nanoseconds.
    pub processor_ns: u64,
    /// What elapsed beyond that.
    pub idle_ns: u64,
}

/// Why there is no trace.
#[derive(Debug)]
pub enum ReadError {
    /// A file or folder cannot be read.
    Io(PathBuf, io::Error),
    /// There is no file of a rank.
    Empty(PathBuf),
    /// A file is something else.
    NotATrace(PathBuf),
    /// A file is of another version of the format.
    Version(PathBuf, u8),
    /// A file is damaged.
    Damaged(PathBuf),
    /// Two files are of one rank, so that they are of several runs.
    TwoOfARank(PathBuf, u32),
    /// Files are of programs with these numbers of ranks.
    SeveralSizes(PathBuf, u32, u32),
    /// Files are of programs that the launcher tells apart.
    SeveralPrograms(PathBuf),
    /// Ranks are missing: which, and of how many.
    Missing(PathBuf, Vec<u32>, u32),
}

/// What to do about traces of several runs.
const APART: &str = "keep each run in a folder of its own";

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            ReadError::Empty(path) => write!(
                f,
                "{}: there is no file of a rank (NAME.{TRACE}); `fishplate profile --trace {}` writes them",
                path.display(),
                path.display()
            ),
            ReadError::NotATrace(path) => write!(f, "{}: this is no trace", path.display()),
            ReadError::Version(path, version) => write!(
                f,
                "{}: the trace is of version {version} of the format, and this program reads {}: record it again, or \
                 use the other version of fishplate",
                path.display(),
                super::rank_file::MAGIC[7]
            ),
            ReadError::Damaged(path) => write!(f, "{}: the file is damaged", path.display()),
            ReadError::TwoOfARank(path, rank) => {
                write!(f, "{}: two traces are of rank {rank}, of different runs: {APART}", path.display())
            }
            ReadError::SeveralSizes(path, one, other) => write!(
                f,
                "{}: there are traces of a program of {one} ranks and of one of {other}: {APART}",
                path.display()
            ),
            ReadError::SeveralPrograms(path) => {
                write!(
                    f,
                    "{}: there are traces of several runs, which the launcher has named apart: {APART}",
                    path.display()
                )
            }
            ReadError::Missing(path, missing, ranks) => {
                let names: Vec<String> = missing.iter().take(8).map(u32::to_string).collect();
                let more = if missing.len() > names.len() { ", ..." } else { "" };
                write!(
                    f,
                    "{}: of {ranks} ranks, {} left no trace: {}{more}",
                    path.display(),
                    missing.len(),
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads the traces in a folder.
///
/// # Errors
/// When there are none, some are missing, or files are not what they should be.
pub fn folder(folder: &Path) -> Result<Trace, ReadError> {
    folder_without_spawned(folder).map(|(trace, _)| trace)
}

/// The same, and how many ranks were left out, as others have started them: what passes between several worlds is in no
/// trace.
///
/// # Errors
/// As [`folder`].
pub fn folder_without_spawned(folder: &Path) -> Result<(Trace, usize), ReadError> {
    let problem = |error| ReadError::Io(folder.into(), error);
    let (mut ranks, mut spawned) = (BTreeMap::new(), 0);
    for entry in fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.extension().is_none_or(|ending| ending != TRACE) {
            continue;
        }
        let rank = rank::read(&path)?;
        if rank.header.is_spawned {
            spawned += 1;
            continue;
        }
        let number = rank.header.rank;
        if ranks.insert(number, rank).is_some() {
            return Err(ReadError::TwoOfARank(folder.into(), number));
        }
    }
    let Some(first) = ranks.values().next() else { return Err(ReadError::Empty(folder.into())) };
    let (world, count) = (first.header.world, first.header.ranks);
    if let Some(other) = ranks.values().find(|rank| rank.header.ranks != count) {
        return Err(ReadError::SeveralSizes(folder.into(), count, other.header.ranks));
    }
    if ranks.values().any(|rank| rank.header.world != world) {
        return Err(ReadError::SeveralPrograms(folder.into()));
    }
    let missing: Vec<u32> = (0..count).filter(|rank| !ranks.contains_key(rank)).collect();
    if !missing.is_empty() {
        return Err(ReadError::Missing(folder.into(), missing, count));
    }
    Ok((Trace { ranks: ranks.into_values().collect() }, spawned))
}
