//! Virtual time of the hardware models.

use fishplate_engine::Instant;

use crate::events::{self, Moment};

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1000;

/// A point in virtual time, or a length of it, in picoseconds: a packet of 2 KiB takes 41 ns at 400 Gbit/s, so whole
/// nanoseconds would be off by a percent. 2^64 of them are 213 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

impl Time {
    /// From nanoseconds, rounded to picoseconds.
    pub fn ns(ns: f64) -> Time {
        Time((ns * PS_PER_NS as f64).round() as u64)
    }

    /// From milliseconds.
    pub const fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000 * PS_PER_NS)
    }

    /// The later of the two.
    pub fn later(self, other: Time) -> Time {
        self.max(other)
    }

    /// In nanoseconds.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }

    /// As the engine sees it.
    pub fn instant(self) -> Instant {
        Instant(self.0 / PS_PER_NS)
    }

    /// From what an engine says.
    pub fn of_instant(instant: Instant) -> Time {
        Time(instant.0.saturating_mul(PS_PER_NS))
    }

    /// As a link sees it, rounded up.
    pub fn link_instant(self) -> fishplate_link::Instant {
        fishplate_link::Instant(self.0.div_ceil(PS_PER_NS))
    }

    /// From what a link says.
    pub fn of_link(instant: fishplate_link::Instant) -> Time {
        Time(instant.0.saturating_mul(PS_PER_NS))
    }
}

impl Moment for Time {
    fn of(ps: u64) -> Time {
        Time(ps)
    }

    fn number(self) -> u64 {
        self.0
    }
}

/// The events of such a time.
pub type Calendar<E> = events::Calendar<Time, E>;

impl std::ops::Add for Time {
    type Output = Time;

    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub for Time {
    type Output = Time;

    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}
