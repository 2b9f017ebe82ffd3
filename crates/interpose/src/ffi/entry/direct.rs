//! Calls that pass this library in one jump.

use std::env;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use fishplate_profile::calls::{Call, Kind};

use super::{CALLS, LANGUAGES};

/// The function that the calls of an entry go to at once; null: [`super::dispatch`] looks at each. Read by [`super::enter`].
pub static FUNCTIONS: [AtomicPtr<c_void>; CALLS * LANGUAGES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CALLS * LANGUAGES];

/// From now on calls of an entry go to this function, unless calls are recorded, or this one may need other arguments or
/// begins or ends something.
pub fn allow(entry: usize, call: &Call, function: *mut c_void) {
    static ARE_RECORDED: OnceLock<bool> = OnceLock::new();
    let are_recorded = || env::var_os(fishplate_profile::VARIABLE).is_some_and(|folder| !folder.is_empty());
    if !*ARE_RECORDED.get_or_init(are_recorded) && call.kind != Kind::Life && !call.is_large {
        FUNCTIONS[entry].store(function, Ordering::Release);
    }
}
