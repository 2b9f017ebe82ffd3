//! Finds the next `dlsym`, of the C library or of another interposed tool: this library has its own ([`super::lookup`]).

#[cfg(target_arch = "x86_64")]
use std::ffi::CStr;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The next `dlsym`; null until it is looked up.
pub static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Symbol versions of `dlsym` in the C library, the latest first.
#[cfg(target_arch = "x86_64")]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.34", c"GLIBC_2.2.5"];

type Function = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The next `dlsym`. On this architecture the library has none, so that it is the only one.
#[cfg(not(target_arch = "x86_64"))]
pub extern "C" fn find() -> *mut c_void {
    libc::dlsym as *mut c_void
}

/// The next `dlsym`.
#[cfg(target_arch = "x86_64")]
pub extern "C" fn find() -> *mut c_void {
    let version = |version: &&CStr| {
        // SAFETY: NUL-terminated strings; RTLD_NEXT is allowed in a library.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    let found = VERSIONS.iter().find_map(version).unwrap_or(ptr::null_mut());
    NEXT.store(found, Ordering::Release);
    found
}

/// Calls the next `dlsym`.
///
/// # Safety
/// The handle is open or a pseudo-handle; the name is NUL-terminated.
pub unsafe fn next(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let known = NEXT.load(Ordering::Acquire);
    let found = if known.is_null() { find() } else { known };
    if found.is_null() {
        return found;
    }
    // SAFETY: it is a function of this type.
    let function: Function = unsafe { std::mem::transmute(found) };
    // SAFETY: the caller's promise.
    unsafe { function(handle, name) }
}
