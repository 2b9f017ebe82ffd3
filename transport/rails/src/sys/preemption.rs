//! Preemptions of the calling thread.

/// Number of involuntary context switches of the calling thread, which include yields to another one (`ru_nivcsw` of
/// getrusage(2)).
pub fn preemptions() -> i64 {
    // SAFETY: rusage is plain data; all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_nivcsw
}
