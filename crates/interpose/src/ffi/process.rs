//! What is asked of the process and its dynamic linker.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// The program or library that an address is in: where it is loaded, and its file.
pub fn module_of(address: usize) -> Option<(usize, String)> {
    // SAFETY: all zeros is a Dl_info.
    let mut information: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts any address.
    let known = unsafe { libc::dladdr(address as *const c_void, &mut information) };
    if known == 0 || information.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr has set it to a string that lives as long as the library.
    let file = unsafe { CStr::from_ptr(information.dli_fname) }.to_string_lossy();
    // The main program may be called by a relative name, or one that was searched for.
    let is_program = !file.contains('/') || !file.starts_with('/');
    let absolute = if is_program { std::env::current_exe().ok() } else { None };
    let file = absolute.map_or(file.into_owned(), |path| path.to_string_lossy().into_owned());
    Some((information.dli_fbase as usize, file))
}

/// Has `forget` called in every process that this one forks.
pub fn in_forked_children(forget: fn()) {
    static FORGET: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();
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

/// Calls `spawn` so that the threads that it starts get no signals.
pub fn with_signals_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
    // SAFETY: places for sets of signals; the first is filled before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = spawn();
    // SAFETY: the set that the call above has written.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}
