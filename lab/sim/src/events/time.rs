//! Virtual time.

use std::fmt;
use std::ops::{Add, Sub};

use fishplate_engine as engine;
use fishplate_link as link;

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// A point in virtual time, as a number of some unit.
pub trait Moment: Copy + Default + Ord {
    /// From that number.
    fn of(number: u64) -> Self;

    /// The number.
    fn number(self) -> u64;
}

/// A point in virtual time: nanoseconds since the start of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

/// A length of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the simulation.
    pub const START: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);
}

impl Moment for Time {
    fn of(ns: u64) -> Time {
        Time(ns)
    }

    fn number(self) -> u64 {
        self.0
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// `us` microseconds.
    pub const fn us(us: u64) -> Duration {
        Duration(us * NS_PER_US)
    }

    /// `ms` milliseconds.
    pub const fn ms(ms: u64) -> Duration {
        Duration(ms * NS_PER_MS)
    }

    /// `s` seconds.
    pub const fn s(s: u64) -> Duration {
        Duration(s * NS_PER_S)
    }

    /// In seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, length: Duration) -> Time {
        Time(self.0.saturating_add(length.0))
    }
}

/// Zero if `earlier` is later.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Duration;

    fn add(self, more: Duration) -> Duration {
        Duration(self.0.saturating_add(more.0))
    }
}

impl From<Time> for engine::Instant {
    fn from(time: Time) -> engine::Instant {
        engine::Instant(time.0)
    }
}

impl From<engine::Instant> for Time {
    fn from(instant: engine::Instant) -> Time {
        Time(instant.0)
    }
}

impl From<Time> for link::Instant {
    fn from(time: Time) -> link::Instant {
        link::Instant(time.0)
    }
}

impl From<link::Instant> for Time {
    fn from(instant: link::Instant) -> Time {
        Time(instant.0)
    }
}

/// Milliseconds, with all nanoseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} ms", self.0 / NS_PER_MS, self.0 % NS_PER_MS)
    }
}
