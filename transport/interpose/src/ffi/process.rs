//! Hooks of the process: at a fork and at its end.

use std::sync::OnceLock;

/// Registers `forget` to be called in each forked child.
pub fn in_forked_children(forget: fn()) {
    static FORGET: OnceLock<fn()> = OnceLock::new();
    unsafe extern "C" fn child() {
        if let Some(forget) = FORGET.get() {
            forget();
        }
    }
    if FORGET.set(forget).is_ok() {
        // SAFETY: a function of this library, which is never unloaded, as it was preloaded.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    }
}

/// Runs when the process exits normally. (A hook registered at loading might run before a sanitizer's runtime is ready.)
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        crate::notes::at_exit();
    }
    at_exit
};
