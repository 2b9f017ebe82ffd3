//! What commands leave running when they end, such as launchers' helpers that are about to remove their files.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// How long they may take to end by themselves: a launcher's helper takes milliseconds. What runs on is ended by the
/// kernel, with the testbed.
const GRACE: Duration = Duration::from_secs(1);
/// How often to look.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until no child of this process, the first of its namespace, is left but `kept` (as /proc numbers them).
pub fn await_end(kept: &[u32]) {
    let start = Instant::now();
    while start.elapsed() < GRACE {
        // Those that have ended are children still, until their status is taken; it interests nobody.
        while waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
        // Kernels without this file give no grace.
        let Ok(children) = fs::read_to_string("/proc/thread-self/children") else { return };
        if children.split_whitespace().filter_map(|id| id.parse().ok()).all(|id| kept.contains(&id)) {
            return;
        }
        std::thread::sleep(LOOK);
    }
}
