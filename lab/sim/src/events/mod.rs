//! The core of a discrete-event simulation: virtual time, events in order, and random numbers from a seed.

mod calendar;
mod random;
mod time;

pub use calendar::Calendar;
pub use random::Random;
pub use time::{Duration, Moment, Time};
