//! Threads that move long payloads between user memory and the kernel, where processors are free: a rail faster than a core
//! needs one of its own. Everything else (the engine, matching, short messages) stays with the thread that calls the endpoint,
//! which lends such a thread one direction of one link at a time and takes it back when the payload has been moved.
//!
//! `slot` is how a job goes to a thread and back, `threads` has the threads, `spare` says how many may run.

mod slot;
#[cfg(test)]
mod slot_tests;
mod spare;
mod sync;
mod threads;

pub use spare::IdleProcessors;
pub use threads::{Lease, Threads, Transfer};

use std::str::FromStr;

/// How many threads move long payloads, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadLimit {
    /// As many as there are processors free, and no more than rails.
    #[default]
    Automatic,
    /// So many, whether processors are free or not.
    Fixed(usize),
}

/// Most threads of an endpoint: two for each of eight rails, more than hosts have.
const MOST: usize = 16;

impl ThreadLimit {
    /// What a user may write.
    pub const ALLOWED: &str = "auto, 0 to 16";
}

impl FromStr for ThreadLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<ThreadLimit, ()> {
        match text {
            "auto" => Ok(ThreadLimit::Automatic),
            number => match number.parse() {
                Ok(number) if number <= MOST => Ok(ThreadLimit::Fixed(number)),
                _ => Err(()),
            },
        }
    }
}
