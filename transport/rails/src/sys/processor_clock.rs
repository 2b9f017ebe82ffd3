//! The clock of the processor time of this process.

/// Processor time that all threads of this process have taken so far, in nanoseconds. By the C library: rustix looks for the
/// kernel's own function first, which ends under valgrind.
pub fn own_processor_time_ns() -> u64 {
    let mut taken = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `taken` alone.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut taken) } != 0;
    if failed { 0 } else { taken.tv_sec as u64 * 1_000_000_000 + taken.tv_nsec as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_takes_processor_time() {
        let before = own_processor_time_ns();
        let mut sum = 0u64;
        while own_processor_time_ns() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(own_processor_time_ns() > before);
    }
}
