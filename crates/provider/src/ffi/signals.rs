//! Threads of ours must not run the application's signal handlers.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// What a thread does itself: these signals are for the thread alone, and the program may handle them, as those do that protect
/// pages and learn from the fault that a page is written to. Blocked, they would end the process.
const FAULTS: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Runs `body` with all other signals blocked; a thread that it starts keeps them so.
pub fn without_signals<R>(body: impl FnOnce() -> R) -> R {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are valid for writes; the calls fill them.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in FAULTS {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = body();
    if blocked {
        // SAFETY: filled by the call above, which succeeded.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    }
    result
}
