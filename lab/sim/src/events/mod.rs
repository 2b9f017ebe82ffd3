//! The core of a discrete-event simulation: virtual time, events in order, and random numbers from a seed.

mod queue;
mod random;
mod time;

pub use queue::EventQueue;
pub use random::Random;
pub use time::{Duration, Time};
