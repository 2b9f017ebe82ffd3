//! Resource limits of this process.

use std::fs;

/// Files and sockets that this process may have open.
pub fn open_files() -> usize {
    // POSIX promises 20; the call fails for no reason that it documents.
    limits().map_or(20, |limits| usize::try_from(limits.rlim_cur).unwrap_or(usize::MAX))
}

/// Raises the limit of open files to `wanted`, at most to the hard limit. Returns the limit.
pub fn raise_open_files(wanted: usize) -> usize {
    if let Some(limits) = limits().filter(|limits| limits.rlim_cur < limits.rlim_max.min(wanted as libc::rlim_t)) {
        let raised = libc::rlimit { rlim_cur: limits.rlim_max.min(wanted as libc::rlim_t), ..limits };
        // SAFETY: `raised` is valid for the call. If it fails, the limit stays as it is.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
    }
    open_files()
}

/// The open file descriptors. Some may be above the limit, if they were opened before it was set.
pub fn open_file_numbers() -> Vec<usize> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn limits() -> Option<libc::rlimit> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limits` is valid for the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) };
    (result == 0).then_some(limits)
}
