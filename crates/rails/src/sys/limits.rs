//! What the system lets this process have.

/// Files and sockets that this process may have open.
pub fn open_files() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    // POSIX promises 20; the call fails for no reason that it documents.
    if result == 0 { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 20 }
}
