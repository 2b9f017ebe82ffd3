//! The state of another process's threads.

use std::fs;
use std::io::ErrorKind;

/// The state of all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// None is inside a system call, beyond its entry or exit: all are stopped by a signal or a debugger, or have ended.
    Stopped,
    /// Some are in an uninterruptible wait in a system call.
    Blocked,
    /// Some run, sleep, or wait for a processor; or the state is not known.
    Other,
}

/// The threads of process `pid`, each as it was at some moment after the call.
pub fn threads_of(pid: i32) -> Threads {
    // /proc of another pid namespace is useless.
    let own = fs::read_link("/proc/self").ok().and_then(|name| name.to_str()?.parse().ok());
    if own != Some(std::process::id()) {
        return Threads::Other;
    }
    let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) if error.kind() == ErrorKind::NotFound => return Threads::Stopped,
        Err(_) => return Threads::Other,
    };
    let mut found = Threads::Stopped;
    for thread in threads {
        let Ok(thread) = thread else { return Threads::Other };
        match state(&thread.path().join("stat")) {
            b'T' | b't' | b'Z' | b'X' => {}
            b'D' => return Threads::Blocked,
            _ => found = Threads::Other,
        }
    }
    found
}

/// The state letter in `/proc/PID/task/TID/stat`, behind the name, which may have any characters.
fn state(path: &std::path::Path) -> u8 {
    match fs::read(path) {
        Ok(text) => {
            text.iter().rposition(|byte| *byte == b')').and_then(|at| text.get(at + 2)).copied().unwrap_or(b'?')
        }
        Err(error) if has_ended(&error) => b'X',
        Err(_) => b'?',
    }
}

/// Whether an error says that a thread has ended.
fn has_ended(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_not_taken_for_stopped_and_one_that_is_not_there_is() {
        assert_ne!(threads_of(std::process::id() as i32), Threads::Stopped);
        assert_eq!(threads_of(i32::MAX), Threads::Stopped);
    }
}
