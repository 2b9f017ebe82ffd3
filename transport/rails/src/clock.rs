//! The engine's time, from the monotonic clock.

use fishplate_engine::Instant;

use crate::sys::clock::monotonic_ns;

/// Counts nanoseconds from when it was made.
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Clock { origin_ns: monotonic_ns() }
    }

    #[inline]
    pub fn now(&self) -> Instant {
        Instant(monotonic_ns() - self.origin_ns)
    }
}
