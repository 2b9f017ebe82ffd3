//! What a library needs that is a guest in an MPI process, and the tools need as well: lines on the error output, threads
//! that get no signals, text of others for a terminal, files in folders of others, and the limit to the length of files.

#![forbid(unsafe_code)]

pub mod file_limit;
pub mod output_file;
mod printable;
mod signals;
mod stderr;

pub use printable::printable;
pub use signals::without_signals;
pub use stderr::{report, report_in_handler};
