//! How often the calling thread has lost its processor to others.

/// So often others have run in its place though it wanted to run on, as when it has yielded to somebody (`ru_nivcsw` of
/// getrusage(2)).
pub fn preemptions() -> i64 {
    // SAFETY: rusage is plain data; all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_nivcsw
}
