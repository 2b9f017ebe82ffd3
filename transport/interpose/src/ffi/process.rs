//! Hook for forked processes.

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
