//! Programs of the system as children of this one. Any folder may call this.

pub mod child_process;
pub mod programs;
