//! Time by the processor's counter register, for short waits in very cheap calls. Its accuracy does not matter: a wait ends a little
//! earlier or later.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sys::counter_register;

/// Time after which the rate of the register is known.
const MIN_MEASURED: Duration = Duration::from_millis(1);
/// Fixed-point factor of the rate.
const UNIT: u64 = 1 << 20;

/// Ticks in [`UNIT`] nanoseconds; zero while they are not known.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Now, in ticks.
#[inline]
pub fn now() -> u64 {
    counter_register::read()
}

/// Ticks in `ns` nanoseconds, less than a second; 0 until [`measure`] was called over `MIN_MEASURED`.
#[inline]
pub fn of_ns(ns: u64) -> u64 {
    ns * RATE.load(Ordering::Relaxed) / UNIT
}

/// Compares the register with the clock. To be called now and then.
pub fn measure() {
    static ORIGIN: OnceLock<(Instant, u64)> = OnceLock::new();
    let &(since, ticks) = ORIGIN.get_or_init(|| (Instant::now(), now()));
    let passed = since.elapsed();
    if passed >= MIN_MEASURED {
        let rate = u128::from(now().wrapping_sub(ticks)) * u128::from(UNIT) / passed.as_nanos();
        RATE.store(u64::try_from(rate).unwrap_or(0), Ordering::Relaxed);
    }
}

/// A period of time, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub since: u64,
    /// How long it is. Zero: it is over.
    pub ticks: u64,
}

impl Span {
    /// A period that is over.
    pub const OVER: Span = Span { since: 0, ticks: 0 };

    /// Whether it is not over yet. A register that goes backwards ends it.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.ticks != 0 && now().wrapping_sub(self.since) < self.ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_as_many_as_the_clock_says() {
        measure();
        let (start, ticks) = (Instant::now(), now());
        while start.elapsed() < 10 * MIN_MEASURED {}
        let counted = now().wrapping_sub(ticks);
        let passed = start.elapsed();
        measure();
        let expected = of_ns(passed.as_nanos() as u64);
        assert!(expected.abs_diff(counted) <= expected / 2, "{expected} expected, {counted} counted");
    }

    #[test]
    fn a_span_ends_with_its_ticks_and_when_the_register_goes_back() {
        let day = of_ns(1_000_000_000).max(1 << 30) * 86_400;
        assert!(Span { since: now(), ticks: day }.goes_on());
        assert!(!Span { since: now().wrapping_sub(day), ticks: day }.goes_on());
        assert!(!Span { since: now().wrapping_add(day), ticks: day }.goes_on());
        assert!(!Span::OVER.goes_on());
    }
}
