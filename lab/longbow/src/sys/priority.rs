//! Real-time priority.

use std::io;

/// The middle of the range, so that other real-time threads of the machine can have a higher priority.
const PRIORITY: libc::c_int = 50;

/// Gives this thread real-time priority (SCHED_FIFO), if permitted; children do not inherit it.
pub fn run_ahead_of_others() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: 0 means the calling thread; the call only reads the structure, which is valid for its duration.
    let code = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
