//! Reads the files written by ranks. A rank may have been killed at any moment while writing its file.

mod rank;
mod recorded;
mod series;

use std::fmt;

pub use rank::rank;
pub use recorded::{Communicator, Counts, Current, Event, Lost, Module, Rank, Site, State, Traffic};
pub use series::{Series, series};

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is not a file of a profile, or it is truncated.
    Foreign,
    /// It was written by another version of Fishplate.
    OtherVersion,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Foreign => "not a file of a profile, or not a whole one",
            Error::OtherVersion => "written by another version of Fishplate",
        })
    }
}
