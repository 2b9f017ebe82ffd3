//! Finds the function to which a call of the program is passed on, and which calls pass this library with one jump.

use std::env;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use fishplate_profile::calls::{self, Call, Kind};

use super::arguments::Arguments;
use super::{CALLS, DIRECT, LANGUAGES, Language, narrowing};
use crate::ffi::{dynamic_linker, library, overrides};

/// Functions by entry, looked up at the first call, as programs may load MPI late. [`missing`] if there is none.
static FUNCTIONS: [AtomicPtr<c_void>; CALLS * LANGUAGES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CALLS * LANGUAGES];

/// Result of a call of a function that the MPI lacks. Without this library the program would not have found the function;
/// mpi4py, which looks up functions at run time, interprets this code as a missing function.
const UNAVAILABLE: c_int = 0xaaaa_aaaa_u32 as c_int;

pub struct Target {
    pub function: *mut c_void,
    /// Number of the executed call, which differs from the program's call if counts were narrowed.
    pub call: usize,
    /// Arrays that the narrowed arguments point to, and whether they must outlive the call.
    arrays: Vec<Vec<c_int>>,
    lasts: bool,
}

/// The target of a call through an entry, made by `caller`. Converts the arguments for the target.
pub fn of(entry: usize, caller: usize, arguments: &mut Arguments) -> Target {
    let call = entry / LANGUAGES;
    if arguments.call.is_large
        && let Some(target) = narrowed(entry, caller, arguments)
    {
        return target;
    }
    Target { function: function(entry, caller), call, arrays: Vec::new(), lasts: false }
}

impl Target {
    /// To be called after the call.
    pub fn release(self) {
        if self.lasts {
            narrowing::keep(self.arrays);
        }
    }
}

/// The function without large counts, if it is an override, or the MPI lacks the large one, and the counts fit.
fn narrowed(entry: usize, caller: usize, arguments: &mut Arguments) -> Option<Target> {
    let (call, is_ours) = plain(entry / LANGUAGES)?;
    if !is_ours && function(entry, caller) != missing as *mut c_void {
        return None;
    }
    let lasts = narrowing::has_lasting_arrays(arguments.call);
    let function = function(call * LANGUAGES, caller);
    let arrays = narrowing::narrow(arguments, &calls::table()[call])?;
    Some(Target { function, call, arrays, lasts })
}

/// The form without large counts of a call, and whether it has an override, which also replaces the MPI's function with large
/// counts.
fn plain(large: usize) -> Option<(usize, bool)> {
    static PLAIN: OnceLock<Vec<Option<(usize, bool)>>> = OnceLock::new();
    let find = |large: &Call| {
        let name = large.name.strip_suffix("_c").filter(|_| large.is_large)?;
        let call = calls::table().iter().position(|call| call.name == name)?;
        let can_be_ours = schedules_are_wanted() && !narrowing::has_lasting_arrays(large);
        Some((call, can_be_ours && overrides::find(name).is_some()))
    };
    PLAIN.get_or_init(|| calls::table().iter().map(find).collect())[large]
}

fn function(entry: usize, caller: usize) -> *mut c_void {
    let place = &FUNCTIONS[entry];
    let known = place.load(Ordering::Acquire);
    if known.is_null() { find(entry, caller, place) } else { known }
}

#[cold]
fn find(entry: usize, caller: usize, place: &AtomicPtr<c_void>) -> *mut c_void {
    let call = &calls::table()[entry / LANGUAGES];
    let language = Language::of(entry);
    let name = name(call, language);
    let ours = if language == Language::C && schedules_are_wanted() { overrides::find(&call.name) } else { None };
    let found = ours.map(<*const c_void>::cast_mut).or_else(|| dynamic_linker::next(&name));
    let found = found.or_else(|| library::in_module_of(caller, &name)).or_else(|| library::symbol(&name));
    let found = found.unwrap_or(missing as *mut c_void);
    place.store(found, Ordering::Release);
    // Not if calls are recorded, if this one may need changed arguments, or if it initializes or finalizes MPI.
    if !are_recorded() && call.kind != Kind::Life && !call.is_large {
        DIRECT[entry].store(found, Ordering::Release);
    }
    found
}

/// Stands for functions that the MPI lacks.
extern "C" fn missing() -> c_int {
    UNAVAILABLE
}

fn name(call: &Call, language: Language) -> CString {
    let name = match language {
        Language::C => call.name.clone(),
        Language::Fortran => call.fortran_name(),
        Language::OpenMpiFortran => call.open_mpi_fortran_name(),
        Language::Fortran2008 => call.fortran_2008_names()[0].clone(),
        Language::Fortran2008Described => call.fortran_2008_names()[1].clone(),
    };
    // No name in the table contains a NUL.
    CString::new(name).unwrap_or_default()
}

/// Whether overrides are used: not if the library was loaded only for a profile.
fn schedules_are_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| is_set("FISHPLATE_COLLECTIVES") || !are_recorded())
}

fn are_recorded() -> bool {
    static RECORDED: OnceLock<bool> = OnceLock::new();
    *RECORDED.get_or_init(|| is_set(fishplate_profile::VARIABLE))
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}
