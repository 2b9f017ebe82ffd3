//! Yielding the processor while nothing arrives, so that more ranks than cores do not starve each other.

use std::sync::atomic::{AtomicU32, Ordering};

/// Consecutive polls without result before each further one yields. A poll costs about a microsecond (a system call);
/// 64 of them cover the latency of a near network, so that a lone rank reacts without leaving its core, and are short
/// against a scheduling slice, so that a waiting rank costs its neighbours little.
const PATIENCE: u32 = 64;

/// Counts polls without result. Threads that poll together share the count, exactness does not matter.
#[derive(Default)]
pub struct Idle {
    empty: AtomicU32,
}

impl Idle {
    /// Data moved or a result came.
    pub fn active(&self) {
        if self.empty.load(Ordering::Relaxed) != 0 {
            self.empty.store(0, Ordering::Relaxed);
        }
    }

    /// Nothing came: lets others run when that has lasted.
    pub fn nothing(&self) {
        let empty = self.empty.load(Ordering::Relaxed);
        if empty < PATIENCE {
            self.empty.store(empty + 1, Ordering::Relaxed);
        } else {
            std::thread::yield_now();
        }
    }
}
