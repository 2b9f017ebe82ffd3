//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Consecutive polls without result before each further one yields. A poll costs about a microsecond (a system call);
/// 64 of them cover the latency of a near network, so that a lone rank reacts without leaving its core.
const PATIENCE: u32 = 64;

/// A yield that takes so long let somebody else run: the core is shared, perhaps with the rank that is waited for. One
/// with nobody to yield to takes a third of a microsecond.
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

/// Counts polls without result. Threads that poll together share the counts, exactness does not matter.
pub struct IdleYield {
    empty: AtomicU32,
    lone: AtomicU32,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield { empty: AtomicU32::new(0), lone: AtomicU32::new(LONE) }
    }
}

impl IdleYield {
    /// Data moved or a result came.
    #[inline]
    pub fn active(&self) {
        if self.empty.load(Ordering::Relaxed) != 0 {
            self.empty.store(0, Ordering::Relaxed);
        }
    }

    /// Nothing came: lets others run when that has lasted.
    pub fn nothing(&self) {
        let empty = self.empty.load(Ordering::Relaxed);
        let lone = self.lone.load(Ordering::Relaxed);
        if empty < PATIENCE && lone == LONE {
            self.empty.store(empty + 1, Ordering::Relaxed);
        } else {
            let lone = if yield_processor() { 0 } else { LONE.min(lone + 1) };
            self.lone.store(lone, Ordering::Relaxed);
            IS_CROWDED.store(lone < LONE, Ordering::Relaxed);
        }
    }
}

/// Lets others run. Whether there was anybody.
fn yield_processor() -> bool {
    let start = Instant::now();
    std::thread::yield_now();
    start.elapsed() >= SHARED
}
