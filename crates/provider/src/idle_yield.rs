//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fishplate_rails::ticks;

/// Time without result before the first yield, in nanoseconds: the latency of a near network, so that a lone rank reacts without
/// leaving its core.
const PATIENCE_NS: u64 = 40_000;
/// From one yield to the next while nobody else wants the processor: a yield costs half a microsecond then, and others get their
/// turn by the system's scheduler anyway, if later.
const BETWEEN_NS: u64 = 200_000;

/// A yield that takes so long let somebody else run: the core is shared, perhaps with the rank that is waited for. One
/// with nobody to yield to takes less than half a microsecond.
const SHARED: Duration = Duration::from_micros(2);

/// On a core that was shared every poll without result yields, until so many yields in a row let nobody run.
const LONE: u32 = 16;

/// Whether polls without result yield at once, as the last yields let others run.
static IS_CROWDED: AtomicBool = AtomicBool::new(false);

/// Whether others were waiting for the processor that this process polls on.
#[inline]
pub fn is_crowded() -> bool {
    IS_CROWDED.load(Ordering::Relaxed)
}

/// Times polls without result. Threads that poll together share the times, exactness does not matter.
pub struct IdleYield {
    is_idle: AtomicBool,
    /// When the next yield is due, in ticks, if it is idle.
    next: AtomicU64,
    lone: AtomicU32,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield { is_idle: AtomicBool::new(false), next: AtomicU64::new(0), lone: AtomicU32::new(LONE) }
    }
}

impl IdleYield {
    /// Data moved or a result came.
    #[inline]
    pub fn active(&self) {
        if self.is_idle.load(Ordering::Relaxed) {
            self.is_idle.store(false, Ordering::Relaxed);
        }
    }

    /// Nothing came: lets others run when that has lasted.
    pub fn nothing(&self) {
        let lone = self.lone.load(Ordering::Relaxed);
        if lone == LONE && !self.is_due() {
            return;
        }
        let lone = if yield_processor() { 0 } else { LONE.min(lone + 1) };
        self.lone.store(lone, Ordering::Relaxed);
        IS_CROWDED.store(lone < LONE, Ordering::Relaxed);
        self.yield_after(BETWEEN_NS);
    }

    fn is_due(&self) -> bool {
        if !self.is_idle.load(Ordering::Relaxed) {
            self.is_idle.store(true, Ordering::Relaxed);
            self.yield_after(PATIENCE_NS);
        }
        // Half of all times are past.
        (ticks::now().wrapping_sub(self.next.load(Ordering::Relaxed)) as i64) >= 0
    }

    fn yield_after(&self, ns: u64) {
        self.next.store(ticks::now().wrapping_add(ticks::of_ns(ns)), Ordering::Relaxed);
    }
}

/// Lets others run. Whether there was anybody.
fn yield_processor() -> bool {
    let start = Instant::now();
    std::thread::yield_now();
    start.elapsed() >= SHARED
}
