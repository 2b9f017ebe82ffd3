//! The only place of this crate that may use `unsafe`: user memory, and an instruction of the processor.

mod atomic_memory;
pub mod crc32c;
pub mod memory;
