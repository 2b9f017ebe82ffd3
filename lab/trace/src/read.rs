//! Reads the traces of all ranks.

mod rank;
mod wildcards;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::operation::Operation;
use super::rank_file::{Header, MAGIC, TRACE};

/// The trace of all ranks of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Traces by rank.
    pub ranks: Vec<RankTrace>,
}

/// The trace of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankTrace {
    /// Describes the rank.
    pub header: Header,
    /// Distinct operations of the rank.
    pub operations: Vec<Operation>,
    /// Its calls, in order. Receives with wildcards have the source of their message, if the trace contains it.
    pub steps: Vec<Step>,
    /// Whether the trace is complete up to MPI_Finalize.
    pub is_whole: bool,
}

impl RankTrace {
    /// Whether several of its threads were in MPI at one time.
    pub fn has_threads_beside(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Operation::Thread { is_beside: true, .. }))
    }
}

/// A call, and the time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of its operation.
    pub operation: u32,
    /// Processor time of the thread since the call before, in nanoseconds.
    pub processor_ns: u64,
    /// Time since the previous call in which the thread did not use the processor, in nanoseconds.
    pub idle_ns: u64,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder cannot be read.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, io::Error),
    /// The folder contains no trace.
    #[error(
        "{path}: there is no file of a rank (NAME.{TRACE}); `fishplate profile --trace {path}` writes them",
        path = .0.display()
    )]
    Empty(PathBuf),
    /// A file is not a trace.
    #[error("{path}: this is no trace", path = .0.display())]
    NotATrace(PathBuf),
    /// A file is of another version of the format.
    #[error(
        "{path}: the trace is of version {1} of the format, and this program reads {own}: record it again, or use the other \
         version of fishplate",
        path = .0.display(),
        own = MAGIC[7]
    )]
    Version(PathBuf, u8),
    /// A file is damaged.
    #[error("{path}: the file is damaged", path = .0.display())]
    Damaged(PathBuf),
    /// Two files are of one rank: the folder contains several runs.
    #[error("{path}: two traces are of rank {1}, of different runs: {APART}", path = .0.display())]
    TwoOfARank(PathBuf, u32),
    /// Files are of programs with different numbers of ranks.
    #[error("{path}: there are traces of a program of {1} ranks and of one of {2}: {APART}", path = .0.display())]
    SeveralSizes(PathBuf, u32, u32),
    /// Files are of several programs, which have different [`Header::world`]s.
    #[error("{path}: there are traces of several runs, which the launcher has named apart: {APART}", path = .0.display())]
    SeveralPrograms(PathBuf),
    /// Ranks are missing: the missing ranks, and the number of ranks.
    #[error(
        "{path}: of {2} ranks, {missing} left no trace: {first}",
        path = .0.display(),
        missing = .1.len(),
        first = first_of(.1)
    )]
    Missing(PathBuf, Vec<u32>, u32),
}

/// Advice for traces of several runs.
const APART: &str = "keep each run in a folder of its own";

/// The first ranks of a list, which may be long.
fn first_of(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(8).map(u32::to_string).collect();
    names.join(", ") + if ranks.len() > names.len() { ", ..." } else { "" }
}

/// Reads the traces in a folder.
///
/// # Errors
/// If there are no traces, ranks are missing, or a file is damaged.
pub fn folder(folder: &Path) -> Result<Trace, ReadError> {
    folder_without_spawned(folder).map(|(trace, _)| trace)
}

/// Like [`folder`], but ignores spawned ranks and returns their number: communication between several MPI_COMM_WORLDs is not
/// traced.
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
