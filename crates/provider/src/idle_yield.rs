//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use fishplate_rails::{preemptions, ticks};

/// Time without result before the first yield, in nanoseconds: the latency of a near network, so that a lone rank reacts without
/// leaving its core.
const PATIENCE_NS: u64 = 40_000;
/// From one yield to the next while nobody else wants the processor: a yield costs half a microsecond then, and others get their
/// turn by the system's scheduler anyway, if later.
const BETWEEN_NS: u64 = 200_000;

/// On a core that is shared so many polls without result yield at once; then it is asked whether others have run meanwhile.
const ROUND: u32 = 16;

/// Whether polls without result yield at once, as the last yields let others run.
static IS_CROWDED: AtomicBool = AtomicBool::new(false);

/// Whether a poll has yielded since [`has_yielded`] was asked.
static HAS_YIELDED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How often others had run in place of the thread, when that was asked last.
    static PREEMPTIONS: Cell<i64> = const { Cell::new(0) };
}

/// Whether others were waiting for the processor that this process polls on.
#[inline]
pub fn is_crowded() -> bool {
    IS_CROWDED.load(Ordering::Relaxed)
}

/// Whether the time since the last call went to yields: then the program has not done anything else meanwhile.
#[inline]
pub fn has_yielded() -> bool {
    HAS_YIELDED.load(Ordering::Relaxed) && HAS_YIELDED.swap(false, Ordering::Relaxed)
}

/// Times polls without result. Threads that poll together share the times, exactness does not matter.
pub struct IdleYield {
    is_idle: AtomicBool,
    /// When the next yield is due, in ticks, if it is idle.
    next: AtomicU64,
    /// Polls of the present round that are left.
    left: AtomicU32,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield { is_idle: AtomicBool::new(false), next: AtomicU64::new(0), left: AtomicU32::new(0) }
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
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            if !self.is_due() {
                return;
            }
            // Who had the processor before, at the end of this thread's slice, may have little to do with the yield.
            PREEMPTIONS.set(preemptions());
        }
        std::thread::yield_now();
        HAS_YIELDED.store(true, Ordering::Relaxed);
        if left > 1 {
            return self.left.store(left - 1, Ordering::Relaxed);
        }
        let is_crowded = was_preempted();
        self.left.store(if is_crowded { ROUND } else { 0 }, Ordering::Relaxed);
        IS_CROWDED.store(is_crowded, Ordering::Relaxed);
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

/// Whether others have run in place of this thread since the last call: the core is shared then, perhaps with the rank that is
/// waited for. That is the kernel's count. How long a yield takes does not tell: it takes long under a tracer as well, on a slow
/// kernel, and where the machine itself is not given its processor.
fn was_preempted() -> bool {
    let preemptions = preemptions();
    PREEMPTIONS.replace(preemptions) != preemptions
}
