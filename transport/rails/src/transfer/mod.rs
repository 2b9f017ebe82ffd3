//! Threads that copy long payloads between user memory and the kernel, where processors are free: a rail faster than a core needs a
//! core of its own. All else (the engine, matching, short messages) stays with the thread that calls the endpoint, which lends a
//! transfer thread one direction of one link at a time and takes it back when the payload has been copied.
//!
//! `slot` passes a job to a thread and back, `threads` has the threads, `spare` says how many may run.

mod slot;
#[cfg(test)]
mod slot_tests;
mod spare;
mod sync;
mod threads;

pub use spare::IdleProcessors;
pub use threads::{Lease, Threads, Transfer};

use std::str::FromStr;

/// Limit of the number of transfer threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadLimit {
    /// The number of free processors, and at most that of rails.
    #[default]
    Automatic,
    /// A fixed number, whether processors are free or not.
    Fixed(usize),
}

/// Threads of an endpoint, at most: two for each of eight rails, more than hosts have.
const MAX_THREADS: usize = 16;

impl ThreadLimit {
    /// Allowed values.
    pub const ALLOWED: &str = "auto, 0 to 16";
}

impl FromStr for ThreadLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<ThreadLimit, ()> {
        match text {
            "auto" => Ok(ThreadLimit::Automatic),
            number => match number.parse() {
                Ok(number) if number <= MAX_THREADS => Ok(ThreadLimit::Fixed(number)),
                _ => Err(()),
            },
        }
    }
}
