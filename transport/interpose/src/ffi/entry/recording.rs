//! Tracks whether a thread is recording. A call of the program during recording was made by a signal handler, or after a signal
//! handler left the recording by `longjmp`. Locks may be held then, and a call may be counted in part.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{Ordering, compiler_fence};

use super::arguments::Arguments;

// A type without a destructor: threads may call MPI while their thread-local data are being destroyed.
thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the thread is recording.
pub fn is_under_way() -> bool {
    IS_RECORDING.get()
}

/// The fences keep the acquisition and release of locks between two calls, as seen by a signal handler on this thread.
fn set(is_recording: bool) {
    compiler_fence(Ordering::SeqCst);
    IS_RECORDING.set(is_recording);
    compiler_fence(Ordering::SeqCst);
}

/// Guard of the recording of a call; suspended during [`Recording::call`].
pub struct Recording(());

impl Recording {
    pub fn begin() -> Recording {
        set(true);
        Recording(())
    }

    /// Executes a call of the program, within which other calls may be made.
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
