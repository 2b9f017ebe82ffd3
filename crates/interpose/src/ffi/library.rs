//! The MPI library of this process, and the functions in it.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::process;

/// A handle of `dlopen`; valid until the process ends, since it is never closed.
struct Library(*mut c_void);

// SAFETY: dlsym may be called from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();

/// Every MPI library has it.
const MARK: &CStr = c"PMPI_Init";

/// The address of a symbol of the MPI library.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    let library = LIBRARY.get_or_init(find).as_ref()?;
    // SAFETY: the handle is open, the name ends with a zero.
    let address = unsafe { libc::dlsym(library.0, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// The function of this name that would have been called if this library were not there: the MPI's, or that of another
/// library in front of it.
pub fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_NEXT is allowed in a library; the name ends with a zero.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// The function of this name that the module of an address would have called: one that it has itself, as mpi4py has what
/// its MPI lacks, or of a library that it was linked with.
pub fn in_module_of(caller: usize, name: &CStr) -> Option<*mut c_void> {
    let module = holder(caller as *mut c_void)?;
    // SAFETY: the handle is open, the name ends with a zero.
    let address = unsafe { libc::dlsym(module.0, name.as_ptr()) };
    // A program's module stands for all that is loaded, this library included.
    let own = process::module_of(in_module_of as *const () as usize).map(|(base, _)| base);
    let found = process::module_of(address as usize).map(|(base, _)| base);
    (!address.is_null() && found != own).then_some(address)
}

/// The address of a variable of the MPI library. A program that is linked with it may hold the variable itself, in a copy
/// that the library uses as well (a copy relocation).
pub fn variable(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_DEFAULT is always allowed; the name ends with a zero.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() { symbol(name) } else { Some(address) }
}

/// The address of a function that MPI must have; looked for once.
pub fn function(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let found = symbol(name).unwrap_or_else(|| missing(name));
    cache.store(found, Ordering::Release);
    found
}

/// Ends the process, as a function that MPI must have is not there.
pub fn missing(name: &CStr) -> ! {
    crate::diagnostics::report(format_args!(
        "no MPI library of this process has the function {}",
        name.to_string_lossy()
    ));
    std::process::abort();
}

/// The one that the program was linked with, or else the one that it has loaded, as Python does, for itself alone.
fn find() -> Option<Library> {
    next(MARK).map_or_else(find_loaded, holder)
}

/// The library that an address is in.
fn holder(address: *mut c_void) -> Option<Library> {
    // SAFETY: all zeros is a Dl_info.
    let mut information: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts any address.
    let known = unsafe { libc::dladdr(address, &mut information) };
    if known == 0 || information.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr has set it to a string that lives as long as the library.
    open(unsafe { CStr::from_ptr(information.dli_fname) })
}

/// A library that is loaded already.
fn open(name: &CStr) -> Option<Library> {
    // SAFETY: the name ends with a zero; RTLD_NOLOAD runs no code of it.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(Library(handle))
}

fn find_loaded() -> Option<Library> {
    unsafe extern "C" fn visit(object: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid object, whose name is a string, and our own pointer.
        let (name, found) =
            unsafe { (CStr::from_ptr((*object).dlpi_name), &mut *found.cast::<Vec<std::ffi::CString>>()) };
        if name.to_bytes().rsplit(|byte| *byte == b'/').next().is_some_and(|file| file.starts_with(b"libmpi")) {
            found.push(name.to_owned());
        }
        0
    }
    let mut names: Vec<std::ffi::CString> = Vec::new();
    // SAFETY: `visit` keeps to the contract, and `names` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut names).cast()) };
    names.iter().filter_map(|name| open(name)).find(|library| {
        // SAFETY: the handle is open, the name ends with a zero.
        !unsafe { libc::dlsym(library.0, MARK.as_ptr()) }.is_null()
    })
}
