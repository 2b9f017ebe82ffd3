//! Real-time priority.

use std::io;

/// In the middle of the range, so that the machine's own real-time threads can be set above.
const PRIORITY: libc::c_int = 50;

/// Lets this thread run ahead of all ordinary ones (SCHED_FIFO), if the system permits; children are born without it.
pub fn run_ahead_of_others() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: 0 means the calling thread, and the call only reads the structure, which outlives it.
    let code = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
