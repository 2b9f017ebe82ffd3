//! The only place of this crate that may use `unsafe`: system calls that the standard library lacks, and user memory.

pub mod bbr;
pub mod clock;
pub mod counter_register;
pub mod interface;
pub mod io;
pub mod limits;
pub mod option;
pub mod preemption;
pub mod tcp_info;
