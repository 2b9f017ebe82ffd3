//! The clocks of the machine, in nanoseconds.

use std::mem::MaybeUninit;

/// Monotonic time.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Time of day, since the Unix epoch.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Processor time of this thread.
pub fn processor() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: a pointer for the time; Linux has these clocks, so it is written.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
