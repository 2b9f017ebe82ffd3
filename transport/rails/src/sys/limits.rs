//! Resource limits of this process.

use std::fs;

use rustix::process::{Resource, getrlimit, setrlimit};

/// Files and sockets that this process may have open.
pub fn open_files() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize)
}

/// Raises the limit of open files to `wanted`, at most to the hard limit. Returns the limit.
pub fn raise_open_files(wanted: usize) -> usize {
    let mut limits = getrlimit(Resource::Nofile);
    let most = limits.maximum.map_or(wanted as u64, |most| most.min(wanted as u64));
    if limits.current.is_some_and(|files| files < most) {
        limits.current = Some(most);
        // If it fails, the limit stays as it is.
        let _ = setrlimit(Resource::Nofile, limits);
    }
    open_files()
}

/// The open file descriptors. Some may be above the limit, if they were opened before it was set.
pub fn open_file_numbers() -> Vec<usize> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
