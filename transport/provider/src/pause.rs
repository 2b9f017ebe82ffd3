//! A time in which reading a queue finds nothing. Checking it takes a load and the processor's counter register. Reads that follow
//! each other closely, as those of a program that tests in a loop or waits, mostly fall into such a pause.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fishplate_rails::ticks::Span;

/// Set under the lock of the endpoint that is bound to the queue, read without it.
#[derive(Default)]
pub struct Pause {
    since: AtomicU64,
    ticks: AtomicU64,
    is_forbidden: AtomicBool,
}

impl Pause {
    /// Whether it is not over yet. A read while it is being set may see the length of the one before; all are fractions of a
    /// millisecond.
    #[inline]
    pub fn goes_on(&self) -> bool {
        Span { since: self.since.load(Ordering::Relaxed), ticks: self.ticks.load(Ordering::Relaxed) }.goes_on()
    }

    #[inline]
    pub fn set(&self, span: Span) {
        let is_over = span.ticks == 0 && self.ticks.load(Ordering::Relaxed) == 0;
        if is_over || self.is_forbidden.load(Ordering::Relaxed) {
            return;
        }
        self.since.store(span.since, Ordering::Relaxed);
        self.ticks.store(span.ticks, Ordering::Relaxed);
    }

    /// Allows no pauses any more: several endpoints are bound to the queue, and none knows the others' state.
    pub fn forbid(&self) {
        self.is_forbidden.store(true, Ordering::Relaxed);
        self.ticks.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use fishplate_rails::ticks;

    use super::*;

    #[test]
    fn it_goes_on_until_it_is_ended_and_not_where_it_is_forbidden() {
        let pause = Pause::default();
        let long = Span { since: ticks::now(), ticks: u64::MAX / 2 };
        assert!(!pause.goes_on());
        pause.set(long);
        assert!(pause.goes_on());
        pause.set(Span::OVER);
        assert!(!pause.goes_on());
        pause.set(long);
        pause.forbid();
        pause.set(long);
        assert!(!pause.goes_on());
    }
}
