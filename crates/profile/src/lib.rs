//! What a profile of an MPI program consists of.
//!
//! While a program runs, each of its ranks keeps its counts in a file that it has mapped to memory ([`rank_file`]), so
//! that they survive the rank, however it ends. What changes over time is in files that grow ([`series_file`]). Both are
//! arrays of 64-bit words in the byte order of the machine. The library in front of MPI writes them, the program
//! `fishplate` reads them ([`read`]); which MPI calls there are, both know from [`calls`]. Where a run has left nothing,
//! [`notes`] tell why.
#![forbid(unsafe_code)]

pub mod calls;
pub mod notes;
pub mod rank_file;
pub mod read;
pub mod series_file;
pub mod sizes;
mod words;

pub use words::{load_text, store_text};

/// The environment variable with the folder that ranks write to; without it they record nothing.
pub const VARIABLE: &str = "FISHPLATE_PROFILE";
