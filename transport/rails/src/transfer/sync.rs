//! Synchronization primitives of a slot. A test replaces them by others that try all interleavings of the threads.

pub use std::sync::atomic::{AtomicU8, Ordering};
pub use std::sync::{Mutex, MutexGuard, PoisonError};

/// Polls for the end of a job before the processor is yielded between two.
const SPINS: u32 = 1000;

/// The pause between two polls, after `rounds` of them.
pub fn pause(rounds: u32) {
    if rounds < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
}
