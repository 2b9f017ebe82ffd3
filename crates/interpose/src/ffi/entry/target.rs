//! Which function a call of the program goes on to.

use std::env;
use std::ffi::{CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use fishplate_profile::calls::{self, Call};

use super::{CALLS, LANGUAGES, Language};
use crate::ffi::{library, overrides};

/// Looked for when it is first called: programs may load MPI late.
static TARGETS: [AtomicPtr<c_void>; CALLS * LANGUAGES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CALLS * LANGUAGES];

/// The function behind an entry.
pub fn of(entry: usize) -> *mut c_void {
    let place = &TARGETS[entry];
    let known = place.load(Ordering::Acquire);
    if known.is_null() { find(entry, place) } else { known }
}

#[cold]
fn find(entry: usize, place: &AtomicPtr<c_void>) -> *mut c_void {
    let call = &calls::table()[entry / LANGUAGES];
    let language = Language::of(entry);
    let name = name(call, language);
    let ours = if language == Language::C && schedules_are_wanted() { overrides::find(&call.name) } else { None };
    let found = ours.map(<*const c_void>::cast_mut).or_else(|| library::next(&name)).or_else(|| library::symbol(&name));
    let Some(found) = found else {
        crate::diagnostics::report(format_args!(
            "no MPI library of this process has the function {}",
            name.to_string_lossy()
        ));
        std::process::abort();
    };
    place.store(found, Ordering::Release);
    found
}

fn name(call: &Call, language: Language) -> CString {
    let name = match language {
        Language::C => call.name.clone(),
        Language::Fortran => call.fortran_name(),
        Language::OpenMpiFortran => call.open_mpi_fortran_name(),
    };
    // No name in the table has a zero in it.
    CString::new(name).unwrap_or_default()
}

/// Whether collective operations are this library's too: unless it was loaded for a profile alone.
fn schedules_are_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    *WANTED.get_or_init(|| is_set("FISHPLATE_COLLECTIVES") || !is_set(crate::profile::VARIABLE))
}
