//! Programs of the system as children of this one, and files that are written whole. Any folder may call this.

pub mod child_process;
pub mod programs;
pub mod whole_file;
