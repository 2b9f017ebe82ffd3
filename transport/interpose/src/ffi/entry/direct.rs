//! Calls that pass this library with one jump.

use std::env;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use fishplate_profile::calls::{Call, Kind};

use super::{CALLS, LANGUAGES};

/// By entry: the function to which [`super::enter()`] jumps directly; null: calls go to [`super::dispatch`].
pub static FUNCTIONS: [AtomicPtr<c_void>; CALLS * LANGUAGES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CALLS * LANGUAGES];

/// Makes further calls of an entry jump directly to `function`, unless calls are recorded, this call may need changed
/// arguments, or it initializes or finalizes MPI.
pub fn allow(entry: usize, call: &Call, function: *mut c_void) {
    static ARE_RECORDED: OnceLock<bool> = OnceLock::new();
    let are_recorded = || env::var_os(fishplate_profile::VARIABLE).is_some_and(|folder| !folder.is_empty());
    if !*ARE_RECORDED.get_or_init(are_recorded) && call.kind != Kind::Life && !call.is_large {
        FUNCTIONS[entry].store(function, Ordering::Release);
    }
}
