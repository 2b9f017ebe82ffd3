//! The only place of this crate that may use `unsafe`: system calls that the standard library lacks, and user memory.

mod atomic_memory;
pub mod bbr;
pub mod clock;
pub mod counter_register;
pub mod crc32c;
pub mod interface;
pub mod io;
pub mod limits;
pub mod memory;
pub mod ofi;
pub mod option;
pub mod poll;
pub mod preemption;
pub mod process_memory;
pub mod shared_memory;
pub mod tcp_info;
