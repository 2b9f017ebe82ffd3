//! The only place of this crate that may use `unsafe`: memory of two processes, and system calls that the standard library
//! lacks.

pub mod peer_process;
pub mod process_memory;
pub mod shared_memory;
