//! Whether a thread is in the middle of recording: if a call of the program's comes in then, a signal handler has made it, or
//! has left the recording by `longjmp`. Locks may be held then, and half of a call be counted.

use std::cell::Cell;
use std::ffi::c_void;

use super::arguments::Arguments;

// Without a destructor: threads may call MPI while their other thread-local data go.
thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the thread is in the middle of it.
pub fn is_under_way() -> bool {
    IS_RECORDING.get()
}

/// Recording, but for the functions that [`Recording::call`] calls. It is over when this is dropped.
pub struct Recording(());

impl Recording {
    /// Begins.
    pub fn begin() -> Recording {
        IS_RECORDING.set(true);
        Recording(())
    }

    /// Carries a call of the program's out, in which others may come in.
    pub fn call(&self, arguments: &Arguments, function: *mut c_void) -> usize {
        IS_RECORDING.set(false);
        let result = arguments.call(function);
        IS_RECORDING.set(true);
        result
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        IS_RECORDING.set(false);
    }
}
