//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fishplate_rails::{preemptions, ticks};

/// Time without result before the first yield, in nanoseconds: the latency of a near network, so that a lone rank reacts without
/// leaving its core.
const PATIENCE_NS: u64 = 40_000;
/// From one yield to the next while nobody else wants the processor: a yield costs half a microsecond then, and others get their
/// turn by the system's scheduler anyway, if later.
const BETWEEN_NS: u64 = 200_000;

/// A thread that has waited for so long on a shared core, in nanoseconds, sleeps from one poll to the next. A yield makes way for
/// others that want the processor, and where these only yield as well, Linux (6.18) may keep all of them from the one that they
/// wait for: for seconds, with four ranks of four threads on two cores.
const SLEEP_AFTER_NS: u64 = 1_000_000;
/// One that has done something else for so long since the last poll, in nanoseconds, does not wait: it tests between pieces of work.
const WORK_NS: u64 = 5_000;
/// The shortest sleep that there is: it takes as long as timers may be late (`PR_SET_TIMERSLACK`, 50 us), a small part of that.
const SLEEP: Duration = Duration::from_nanos(1);

/// On a core that is shared so many polls without result yield at once; then it is asked whether others have run meanwhile.
const ROUND: u32 = 16;

/// Whether polls without result yield at once, as the last yields let others run.
static IS_CROWDED: AtomicBool = AtomicBool::new(false);

/// Whether something waits for the network: otherwise nobody knows for how long the program has waited, and for whom.
static WAITS: AtomicBool = AtomicBool::new(false);

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

/// Something waits for the network, or nothing does. To be told while the processor is shared.
#[inline]
pub fn set_waits(waits: bool) {
    WAITS.store(waits, Ordering::Relaxed);
}

/// Whether the time since the last call went to yields: then the program has not done anything else meanwhile.
#[inline]
pub fn has_yielded() -> bool {
    HAS_YIELDED.load(Ordering::Relaxed) && HAS_YIELDED.swap(false, Ordering::Relaxed)
}

/// Times polls without result. Threads that poll together share the times, exactness does not matter.
pub struct IdleYield {
    is_idle: AtomicBool,
    /// Since when, in ticks, if it is.
    since: AtomicU64,
    /// When the next yield is due, in ticks, if it is idle.
    next: AtomicU64,
    /// When the last yield ended, in ticks.
    left_at: AtomicU64,
    /// Polls of the present round that are left.
    left: AtomicU32,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield {
            is_idle: AtomicBool::new(false),
            since: AtomicU64::new(0),
            next: AtomicU64::new(0),
            left_at: AtomicU64::new(0),
            left: AtomicU32::new(0),
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
        self.begin();
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            if !has_passed(&self.next, 0) {
                return;
            }
            // What had the processor before, at the end of this thread's slice, may have little to do with the yield.
            PREEMPTIONS.set(preemptions());
        }
        let sleeps = is_crowded() && WAITS.load(Ordering::Relaxed) && self.has_waited();
        std::thread::yield_now();
        HAS_YIELDED.store(true, Ordering::Relaxed);
        if sleeps {
            std::thread::sleep(SLEEP);
        }
        self.left_at.store(ticks::now(), Ordering::Relaxed);
        if left > 1 {
            return self.left.store(left - 1, Ordering::Relaxed);
        }
        let is_crowded = was_preempted();
        IS_CROWDED.store(is_crowded, Ordering::Relaxed);
        self.left.store(if is_crowded { ROUND } else { 0 }, Ordering::Relaxed);
        self.yield_after(BETWEEN_NS);
    }

    /// Whether the program has waited for long, and does nothing else.
    fn has_waited(&self) -> bool {
        has_passed(&self.since, SLEEP_AFTER_NS) && !has_passed(&self.left_at, WORK_NS)
    }

    /// Nothing has come, now or already before.
    #[inline]
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

/// Whether so many nanoseconds have passed since a time in ticks. Half of all times are past.
#[inline]
fn has_passed(since: &AtomicU64, ns: u64) -> bool {
    let then = since.load(Ordering::Relaxed).wrapping_add(ticks::of_ns(ns));
    (ticks::now().wrapping_sub(then) as i64) >= 0
}

/// Whether others have run in place of this thread since the last call: the core is shared then, perhaps with the rank that is
/// waited for. That is the kernel's count. How long a yield takes does not tell: it takes long under a tracer as well, on a slow
/// kernel, and where the machine itself is not given its processor.
fn was_preempted() -> bool {
    let preemptions = preemptions();
    PREEMPTIONS.replace(preemptions) != preemptions
}
