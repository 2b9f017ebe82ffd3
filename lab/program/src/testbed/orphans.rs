//! Orphaned processes that a command leaves running at its end, such as launchers' helpers that still remove their files.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// How long they may take to end by themselves: a launcher's helper takes milliseconds. What runs on is ended by the
/// kernel, with the testbed.
const GRACE: Duration = Duration::from_secs(1);
/// How long killed ones may take, which is up to the kernel.
const KILLED: Duration = Duration::from_secs(5);
/// How often to look.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until no child of this process, the first of its namespace, is left but `kept` (as /proc numbers them).
pub fn await_end(kept: &[u32]) {
    each_look(GRACE, |_| {}, kept);
}

/// Kills the remaining processes, and those that they leave, until only `kept` remains.
pub fn end(kept: &[u32]) {
    // If /proc is that of an outer namespace, its process numbers are not those of `kill`.
    if !fs::read_link("/proc/self").is_ok_and(|own| own.to_str() == Some(&std::process::id().to_string())) {
        return;
    }
    let kill = |id: u32| {
        // An error means that it has ended already.
        let _ = kill(Pid::from_raw(id as i32), Signal::SIGKILL);
    };
    each_look(KILLED, kill, kept);
}

/// Looks again and again at the children that are left but `kept`, until there are none, or `limit`.
fn each_look(limit: Duration, act: impl Fn(u32), kept: &[u32]) {
    let start = Instant::now();
    while start.elapsed() < limit {
        // Reaps ended children; their status does not matter.
        while waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
        // Kernels without this file give no grace.
        let Ok(children) = fs::read_to_string("/proc/thread-self/children") else { return };
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        let left: Vec<u32> = children.filter(|id| !kept.contains(id)).collect();
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(&act);
        std::thread::sleep(LOOK);
    }
}
