//! What two threads share a slot by. A test puts others in their place, which try all orders of what the threads do.

pub use std::sync::atomic::{AtomicU8, Ordering};
pub use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rounds of looking for the end of a job before the processor is given away between two.
const SPINS: u32 = 1000;

/// Between two looks, after so many of them.
pub fn pause(rounds: u32) {
    if rounds < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
}
