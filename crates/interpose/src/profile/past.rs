//! Processes that begin MPI past this library, by PMPI_Init or in a plug-in that sees its own libraries first: nothing is
//! recorded of them, and they leave word of that.

use std::env;
use std::fs;
use std::path::PathBuf;

use fishplate_profile::{PAST, VARIABLE};

use super::session;
use crate::ffi;

/// At the end of a process.
pub fn at_exit() {
    let folder = env::var_os(VARIABLE).filter(|folder| !folder.is_empty() && !session::was_begun());
    let Some(folder) = folder.filter(|_| ffi::is_initialized()) else { return };
    let file = PathBuf::from(folder).join(format!("{}.{PAST}", session::unique()));
    let program = env::current_exe().unwrap_or_default();
    // Where that cannot be written, the profile says less.
    let _ = fs::write(file, program.as_os_str().as_encoded_bytes());
}
