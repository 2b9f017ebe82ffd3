//! What is asked of the process: its forks.

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
