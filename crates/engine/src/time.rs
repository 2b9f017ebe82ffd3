//! Time as the engine sees it: nanoseconds since an origin that the driver chose.

/// A point in time, in nanoseconds since the driver's origin. The engine never reads a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// Nanoseconds from `earlier` to `self`; 0 when `earlier` is later.
    pub fn since_ns(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// In microseconds, modulo 2^32.
    pub fn wrapping_us(self) -> u32 {
        (self.0 / 1000) as u32
    }

    /// What is left at this instant of something that halves every `half_life_ns` since an earlier one.
    pub fn decay_since(self, earlier: Instant, half_life_ns: u64) -> f64 {
        (-(self.since_ns(earlier) as f64 / half_life_ns as f64)).exp2()
    }

    /// The instant `ns` nanoseconds later.
    pub fn plus_ns(self, ns: u64) -> Instant {
        Instant(self.0.saturating_add(ns))
    }
}
