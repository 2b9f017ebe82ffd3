//! Profiles of MPI programs, recorded by the interposed library (`transport/interpose`).
//!
//! [`launch`] makes the folder into which ranks write while the program runs. Then [`raw`] reads it, and [`analysis`] finds
//! out which processes belong together, and makes a profile ([`schema`]): with [`clocks`] in one time for
//! all, [`late`] finds the ranks that waited for others, [`places`] where calls are in the source. [`record`] writes and reads
//! profiles, [`summary`] adds ranks up, `print` shows them. [`times`] and [`rails_over_time`] are what measurements take
//! of one.

mod analysis;
mod clocks;
mod late;
pub mod launch;
mod packed;
mod places;
pub mod print;
pub mod rails_over_time;
mod raw;
pub mod record;
pub mod schema;
mod summary;
#[cfg(test)]
mod test_ranks;
pub mod times;
mod unseen;

use std::path::Path;

use anyhow::Result;

pub use raw::{Ended, RawRank};
pub use schema::Profile;

/// The profile of ranks that have written nothing, as they never ran: of a simulation.
pub fn of_ranks(ranks: Vec<RawRank>) -> Profile {
    analysis::profile(raw::Raw { ranks, ..raw::Raw::default() }, None)
}

/// The profile of what ranks have written into a folder. `ended` is how the command did, where that is known.
///
/// # Errors
/// When the folder cannot be read.
pub fn of_folder(folder: &Path, ended: Option<&Ended>) -> Result<Profile> {
    let mut profile = analysis::profile(raw::read(folder, ended)?, ended.map(|ended| ended.code));
    unseen::explain(&mut profile, folder, ended.is_some());
    Ok(profile)
}
