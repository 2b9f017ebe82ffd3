//! Clocks of the kernel as numbers.

/// Nanoseconds since some moment before this process began. The standard library needs twice the instructions to make a time of
/// it, and each message reads the clock several times.
#[inline]
pub fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Processor time in nanoseconds that all threads of this process have taken so far. By the C library: rustix looks for the
/// kernel's own function first, which ends under valgrind.
pub fn processor_time_ns() -> u64 {
    nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call, which cannot fail: these clocks are there in every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_takes_processor_time() {
        let before = processor_time_ns();
        let mut sum = 0u64;
        while processor_time_ns() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(processor_time_ns() > before);
    }
}
