//! Whether a thread is in the middle of recording: if a call of the program's comes in then, a signal handler has made it, or
//! has left the recording by `longjmp`. Locks may be held then, and half of a call be counted.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{Ordering, compiler_fence};

use super::arguments::Arguments;

// Without a destructor: threads may call MPI while their other thread-local data go.
thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the thread is in the middle of it.
pub fn is_under_way() -> bool {
    IS_RECORDING.get()
}

/// The locks of what is recorded are taken and given back between the two: a handler that runs on this thread must see it so.
fn set(is_recording: bool) {
    compiler_fence(Ordering::SeqCst);
    IS_RECORDING.set(is_recording);
    compiler_fence(Ordering::SeqCst);
}

/// Recording, but for the functions that [`Recording::call`] calls. It is over when this is dropped.
pub struct Recording(());

impl Recording {
    /// Begins.
    pub fn begin() -> Recording {
        set(true);
        Recording(())
    }

    /// Carries a call of the program's out, in which others may come in.
    pub fn call(&self, arguments: &Arguments, function: *mut c_void) -> usize {
        set(false);
        let result = arguments.call(function);
        set(true);
        result
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        set(false);
    }
}
