//! The files of a profile of an MPI program.
//!
//! While a program runs, each of its ranks keeps its counters in a memory-mapped file ([`rank_file`]), so that they survive
//! the process however it ends. Time series are in files that grow ([`series_file`]). Both are arrays of 64-bit words in the
//! byte order of the machine. The interposed library writes them, the program `fishplate` reads them ([`read`]); both number
//! the MPI calls by the table in [`calls`]. If a run leaves no file of a rank, its [`notes`] tell why.
#![forbid(unsafe_code)]

pub mod calls;
pub mod notes;
pub mod rank_file;
pub mod read;
pub mod series_file;
pub mod sizes;
mod words;

pub use words::{load_text, store_text};

/// The environment variable with the folder that ranks write to; ranks record nothing if it is unset.
pub const VARIABLE: &str = "FISHPLATE_PROFILE";
