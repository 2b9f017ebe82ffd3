//! The exit status of the process. It is not 0 after `MPI_Abort`, or when an MPI exits because operations have failed.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

static STATUS: AtomicI32 = AtomicI32::new(0);

/// Whether the process is exiting with a status other than 0. False where the C library has no `on_exit`.
pub fn has_failed() -> bool {
    STATUS.load(Ordering::Relaxed) != 0
}

/// Registers an exit handler. `library` is the path of this library, which stays loaded from now on, as a handler cannot be
/// unregistered.
pub fn watch(library: &CStr) {
    // SAFETY: a C string; what is found, if anything, is a function, which is only called below.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"on_exit".as_ptr()) };
    // SAFETY: `library` is a C string, and in memory already.
    let kept = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE) };
    if symbol.is_null() || kept.is_null() {
        return;
    }
    type Handler = extern "C" fn(c_int, *mut c_void);
    // SAFETY: on_exit(3) has this type wherever there is one (it is no part of C or POSIX).
    let on_exit: extern "C" fn(Handler, *mut c_void) -> c_int = unsafe { std::mem::transmute(symbol) };
    on_exit(remember, null_mut());
}

extern "C" fn remember(status: c_int, _: *mut c_void) {
    STATUS.store(status, Ordering::Relaxed);
}
