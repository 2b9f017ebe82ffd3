//! What a thread does while nothing arrives, so that more ranks than cores do not starve each other: it polls for a while,
//! then yields the processor, or sleeps in the kernel ([`Waiting`] says which of the two).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::crowd::is_any_waiting;
use crate::errno::lock_plain;
use crate::waiting::Waiting;

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
    /// A wait on a crowded processor is under way.
    is_waiting: AtomicBool,
    /// Such a wait is better spent asleep.
    sleeps: AtomicBool,
    waiting: Mutex<Waiting>,
}

impl Default for IdleYield {
    fn default() -> IdleYield {
        IdleYield {
            empty: AtomicU32::new(0),
            lone: AtomicU32::new(LONE),
            is_waiting: AtomicBool::new(false),
            sleeps: AtomicBool::new(false),
            waiting: Mutex::default(),
        }
    }
}

impl IdleYield {
    /// Data moved or a result came.
    #[inline]
    pub fn active(&self) {
        if self.empty.load(Ordering::Relaxed) != 0 {
            self.empty.store(0, Ordering::Relaxed);
        }
        if self.is_waiting.load(Ordering::Relaxed) {
            self.is_waiting.store(false, Ordering::Relaxed);
            self.sleeps.store(lock_plain(&self.waiting).end(), Ordering::Relaxed);
        }
    }

    /// Nothing came: lets others run when that has lasted. `sleep` waits in the kernel for so long at most, unless it
    /// finds something. False: it cannot be woken.
    pub fn nothing(&self, sleep: impl FnOnce(Duration) -> bool) {
        let empty = self.empty.load(Ordering::Relaxed);
        let lone = self.lone.load(Ordering::Relaxed);
        if empty < PATIENCE && lone == LONE {
            self.empty.store(empty + 1, Ordering::Relaxed);
            return;
        }
        let start = Instant::now();
        let most = lock_plain(&self.waiting).next_sleep(start);
        let has_slept = lone < LONE && self.sleeps.load(Ordering::Relaxed) && is_any_waiting() && sleep(most);
        if !has_slept {
            std::thread::yield_now();
        }
        let end = Instant::now();
        let lone = match has_slept {
            true => lone,
            false if end - start >= SHARED => 0,
            false => LONE.min(lone + 1),
        };
        self.lone.store(lone, Ordering::Relaxed);
        IS_CROWDED.store(lone < LONE, Ordering::Relaxed);
        if lone < LONE {
            self.is_waiting.store(true, Ordering::Relaxed);
            lock_plain(&self.waiting).waited(start, end);
        }
    }
}
