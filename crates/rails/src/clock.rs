//! The engine's time, from the monotonic clock.

use std::time::Instant as Monotonic;

use fishplate_engine::Instant;

/// Counts nanoseconds from when it was made.
pub struct Clock {
    origin: Monotonic,
}

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Clock { origin: Monotonic::now() }
    }

    /// Now.
    pub fn now(&self) -> Instant {
        Instant(self.origin.elapsed().as_nanos() as u64)
    }
}
