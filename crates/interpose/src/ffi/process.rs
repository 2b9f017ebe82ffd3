//! What is asked of the process: its end, its forks.

use std::sync::OnceLock;

/// Runs when the process ends by itself. (What runs when the library is loaded may come before a sanitizer is ready.)
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        crate::profile::at_exit();
    }
    at_exit
};

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
