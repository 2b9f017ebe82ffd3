//! Time of a link, without a clock.

/// A point in time, in nanoseconds since an origin chosen by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// Nanoseconds from `earlier` to `self`; 0 when `earlier` is later.
    pub fn since_ns(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `ns` nanoseconds later.
    pub fn plus_ns(self, ns: u64) -> Instant {
        Instant(self.0.saturating_add(ns))
    }
}
