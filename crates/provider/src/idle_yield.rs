//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fishplate_rails::{preemptions, ticks};

/// Time without result before the first yield, in nanoseconds: the latency of a near network, so that a lone rank reacts without
/// leaving its core.
const PATIENCE_NS: u64 = 40_000;
/// From one yield to the next while nobody else wants the processor: a yield costs half a microsecond then, and others get their
/// turn by the system's scheduler anyway, if later.
const BETWEEN_NS: u64 = 200_000;

/// A yield that takes so long may have let somebody else run: the core is shared then, perhaps with the rank that is waited for.
/// One with nobody to yield to takes about half a microsecond.
const SHARED: Duration = Duration::from_micros(2);

/// Who has waited for so long on a shared core, in nanoseconds, sleeps from one poll to the next. A yield makes way for others that
/// want the processor, and where these only yield as well, Linux (6.18) may keep all of them from the one that they wait for:
/// for seconds, with four ranks of four threads on two cores.
const SLEEP_AFTER_NS: u64 = 1_000_000;
/// The shortest sleep that there is: it takes as long as timers may be late (`PR_SET_TIMERSLACK`, 50 us), a small part of that.
const SLEEP: Duration = Duration::from_nanos(1);

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
    /// Since when, in ticks, if it is.
    since: AtomicU64,
    /// When the next yield is due, in ticks, if it is idle.
    next: AtomicU64,
    lone: AtomicU32,
    /// How often others had run in place of the thread, when that was asked last.
    preemptions: AtomicI64,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield {
            is_idle: AtomicBool::new(false),
            since: AtomicU64::new(0),
            next: AtomicU64::new(0),
            lone: AtomicU32::new(LONE),
            preemptions: AtomicI64::new(0),
        }
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
        self.begin();
        if lone == LONE && !is_past(self.next.load(Ordering::Relaxed)) {
            return;
        }
        let has_let_run = yield_processor() && (lone < LONE || self.was_preempted());
        let lone = if has_let_run { 0 } else { LONE.min(lone + 1) };
        self.lone.store(lone, Ordering::Relaxed);
        IS_CROWDED.store(lone < LONE, Ordering::Relaxed);
        self.yield_after(BETWEEN_NS);
        if lone < LONE && is_past(self.since.load(Ordering::Relaxed).wrapping_add(ticks::of_ns(SLEEP_AFTER_NS))) {
            std::thread::sleep(SLEEP);
        }
    }

    /// Whether others have run since the last call, as the kernel says: yields of a process that is traced, or of a machine that
    /// is not given its processor, take long as well.
    fn was_preempted(&self) -> bool {
        let preemptions = preemptions();
        self.preemptions.swap(preemptions, Ordering::Relaxed) != preemptions
    }

    /// Nothing has come, now or already before.
    fn begin(&self) {
        if !self.is_idle.load(Ordering::Relaxed) {
            self.is_idle.store(true, Ordering::Relaxed);
            self.since.store(ticks::now(), Ordering::Relaxed);
            self.yield_after(PATIENCE_NS);
        }
    }

    fn yield_after(&self, ns: u64) {
        self.next.store(ticks::now().wrapping_add(ticks::of_ns(ns)), Ordering::Relaxed);
    }
}

/// Whether a time in ticks is past. Half of all times are.
fn is_past(then: u64) -> bool {
    (ticks::now().wrapping_sub(then) as i64) >= 0
}

/// Lets others run. Whether it took as long as if there was anybody.
fn yield_processor() -> bool {
    let start = Instant::now();
    std::thread::yield_now();
    start.elapsed() >= SHARED
}
