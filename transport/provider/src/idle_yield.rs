//! Yields the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fishplate_rails::{preemptions, ticks};

/// Idle time before the first yield, in nanoseconds: the latency of a near network, so that a lone rank reacts without leaving its
/// core.
const PATIENCE_NS: u64 = 40_000;
/// Time from one yield to the next while nobody else wants the processor, in nanoseconds: a yield costs half a microsecond then, and
/// the scheduler gives others their turn anyway, if later.
const BETWEEN_NS: u64 = 200_000;

/// A thread that has waited for this time on a shared core, in nanoseconds, sleeps from one poll to the next. With yields alone, where
/// others only yield too, Linux (6.18) may keep all of them from the one that they wait for: for seconds, with four ranks of four
/// threads on two cores.
const SLEEP_AFTER_NS: u64 = 1_000_000;
/// A thread that has done something else for this time since the last poll, in nanoseconds, does not wait: it tests between pieces of
/// work.
const WORK_NS: u64 = 5_000;
/// The shortest sleep: it takes as long as the timer slack (`PR_SET_TIMERSLACK`, 50 us), a small part of [`SLEEP_AFTER_NS`].
const SLEEP: Duration = Duration::from_nanos(1);

/// Idle polls on a shared core that yield at once; after them it is checked whether others have run meanwhile.
const ROUND: u32 = 16;

/// Whether idle polls yield at once, as the last yields let others run.
static IS_CROWDED: AtomicBool = AtomicBool::new(false);

/// Whether an operation waits for the network. Without one, it is not known how long the program has waited.
static WAITS: AtomicBool = AtomicBool::new(false);

/// Whether a poll has yielded since the last call of [`has_yielded`].
static HAS_YIELDED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Preemptions of the thread at the last check.
    static PREEMPTIONS: Cell<i64> = const { Cell::new(0) };
}

/// Whether others wait for the processor that this process polls on, at the last check.
#[inline]
pub fn is_crowded() -> bool {
    IS_CROWDED.load(Ordering::Relaxed)
}

/// Says whether an operation waits for the network. To be called while the processor is shared.
#[inline]
pub fn set_waits(waits: bool) {
    WAITS.store(waits, Ordering::Relaxed);
}

/// Whether a poll has yielded since the last call: then the program has not done anything else meanwhile.
#[inline]
pub fn has_yielded() -> bool {
    HAS_YIELDED.load(Ordering::Relaxed) && HAS_YIELDED.swap(false, Ordering::Relaxed)
}

/// Times idle polls. Threads that poll together share it, as accuracy does not matter.
pub struct IdleYield {
    is_idle: AtomicBool,
    /// Start of the idle time, in ticks, if it is idle.
    since: AtomicU64,
    /// When the next yield is due, in ticks, if it is idle.
    next: AtomicU64,
    /// When the last yield, or the poll after it, ended, in ticks.
    left_at: AtomicU64,
    /// Polls left in the present round.
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
    /// A poll had a result.
    #[inline]
    pub fn active(&self) {
        if self.is_idle.load(Ordering::Relaxed) {
            self.is_idle.store(false, Ordering::Relaxed);
        }
    }

    /// A poll had no result: yields if that has lasted. True if others may have run meanwhile: then the poll is to be repeated, as a
    /// program that yields after each poll itself (MPICH) would give every second turn away.
    pub fn nothing(&self) -> bool {
        self.begin();
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 && !has_passed(&self.next, 0) {
            return false;
        }
        // Preemptions before the yield do not count, nor those of other work since the last poll.
        if left == 0 || has_passed(&self.left_at, WORK_NS) {
            PREEMPTIONS.set(preemptions());
        }
        let sleeps = is_crowded() && WAITS.load(Ordering::Relaxed) && self.has_waited();
        std::thread::yield_now();
        HAS_YIELDED.store(true, Ordering::Relaxed);
        if sleeps {
            std::thread::sleep(SLEEP);
        }
        self.leaves();
        if left > 1 {
            self.left.store(left - 1, Ordering::Relaxed);
            return true;
        }
        let is_crowded = was_preempted();
        IS_CROWDED.store(is_crowded, Ordering::Relaxed);
        self.left.store(if is_crowded { ROUND } else { 0 }, Ordering::Relaxed);
        self.yield_after(BETWEEN_NS);
        is_crowded
    }

    /// The thread returns to the program.
    #[inline]
    pub fn leaves(&self) {
        self.left_at.store(ticks::now(), Ordering::Relaxed);
    }

    /// Whether the program has waited for long, and does nothing else.
    fn has_waited(&self) -> bool {
        has_passed(&self.since, SLEEP_AFTER_NS) && !has_passed(&self.left_at, WORK_NS)
    }

    /// Begins the idle time, unless it has begun.
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

/// Whether `ns` have passed since a time in ticks, which wraps: half of all values are in the past.
#[inline]
fn has_passed(since: &AtomicU64, ns: u64) -> bool {
    let then = since.load(Ordering::Relaxed).wrapping_add(ticks::of_ns(ns));
    (ticks::now().wrapping_sub(then) as i64) >= 0
}

/// Whether this thread was preempted since the last call, by the kernel's count: the core is shared then, perhaps with the rank that
/// this one waits for. The duration of a yield does not tell that: it is long also under a tracer, on a slow kernel, and in a virtual
/// machine without a processor of its own.
fn was_preempted() -> bool {
    let preemptions = preemptions();
    PREEMPTIONS.replace(preemptions) != preemptions
}
