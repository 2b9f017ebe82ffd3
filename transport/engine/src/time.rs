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

    /// Weight, from 0 to 1, of a value from `earlier` that decays by half every `half_life_ns`.
    pub fn decay_since(self, earlier: Instant, half_life_ns: u64) -> f64 {
        (-(self.since_ns(earlier) as f64 / half_life_ns as f64)).exp2()
    }

    /// The instant `ns` nanoseconds later.
    pub fn plus_ns(self, ns: u64) -> Instant {
        Instant(self.0.saturating_add(ns))
    }
}

/// An optional [`Instant`] in 8 bytes, for structures of which there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeInstant(u64);

/// Stands for `None`.
const NONE: u64 = u64::MAX;

impl MaybeInstant {
    /// The time, if there is one.
    #[inline]
    pub fn get(self) -> Option<Instant> {
        (self.0 != NONE).then_some(Instant(self.0))
    }
}

impl Default for MaybeInstant {
    fn default() -> Self {
        MaybeInstant(NONE)
    }
}

impl From<Option<Instant>> for MaybeInstant {
    #[inline]
    fn from(time: Option<Instant>) -> Self {
        MaybeInstant(time.map_or(NONE, |time| time.0))
    }
}
