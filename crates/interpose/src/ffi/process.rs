//! What is asked of the process: its forks and signals.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// Has `forget` called in every process that this one forks.
pub fn in_forked_children(forget: fn()) {
    static FORGET: OnceLock<fn()> = OnceLock::new();
    unsafe extern "C" fn child() {
        if let Some(forget) = FORGET.get() {
            forget();
        }
    }
    if FORGET.set(forget).is_ok() {
        // SAFETY: a function that lives as long as this library, which is never unloaded as it was loaded first.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    }
}

/// What a thread does itself. The program may handle these signals; blocked, they would end the process.
const FAULTS: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Calls `spawn` so that the threads that it starts get no signals.
pub fn with_signals_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
    // SAFETY: places for sets of signals; the first is filled before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in FAULTS {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = spawn();
    // SAFETY: the set that the call above has written.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}
