//! Queries the dynamic linker.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A loaded library. It is never closed, so it stays loaded until the process ends.
pub struct Library(*mut c_void);

// SAFETY: dlsym may be called from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The library of this name, if it is already loaded.
    pub fn loaded(name: &CStr) -> Option<Library> {
        // SAFETY: the name ends with a zero; RTLD_NOLOAD runs no code of it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Library(handle))
    }

    /// The library that contains an address. For an address in the program itself: the global scope.
    pub fn holding(address: *const c_void) -> Option<Library> {
        Library::loaded(&module_of(address)?.name)
    }

    /// Address of a symbol of the library or of its dependencies.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open.
        unsafe { symbol(self.0, name) }
    }
}

/// Address of a symbol of Fishplate's provider, if the MPI loaded it. The provider is recognized by its file name.
pub fn of_provider(symbol: &CStr) -> Option<*mut c_void> {
    let names = names(|file| [&b"libfishplate-fi.so"[..], b"libfishplate_fi.so"].contains(&file));
    Library::loaded(names.first()?)?.symbol(symbol)
}

/// The function of this name that would be called without this library.
pub fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_NEXT is allowed in a library.
    unsafe { symbol(libc::RTLD_NEXT, name) }
}

/// The variable or function of this name in the global scope.
pub fn global(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_DEFAULT is always allowed.
    unsafe { symbol(libc::RTLD_DEFAULT, name) }
}

/// # Safety
/// The handle is open or a pseudo-handle.
unsafe fn symbol(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: as the caller says; the name ends with a zero.
    let address = unsafe { next_dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A program or library in memory.
pub struct Module {
    /// Load address.
    pub base: usize,
    name: CString,
}

impl Module {
    /// Path of its file. The linker's name of the program may be relative or without a folder.
    pub fn file(&self) -> PathBuf {
        let path = Path::new(OsStr::from_bytes(self.name.to_bytes()));
        let program = if path.is_absolute() { None } else { std::env::current_exe().ok() };
        program.unwrap_or_else(|| path.to_path_buf())
    }
}

/// The program or library that contains an address.
pub fn module_of(address: *const c_void) -> Option<Module> {
    // SAFETY: all zeros is a valid Dl_info.
    let mut information: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts any address.
    let known = unsafe { libc::dladdr(address, &mut information) };
    if known == 0 || information.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr has set it to a string that lives as long as the module.
    let name = unsafe { CStr::from_ptr(information.dli_fname) }.to_owned();
    Some(Module { base: information.dli_fbase as usize, name })
}

/// Number of libraries loaded and closed so far.
pub fn changes() -> u64 {
    unsafe extern "C" fn visit(object: *mut libc::dl_phdr_info, _: libc::size_t, changes: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid object, and our own pointer.
        unsafe { *changes.cast::<u64>() = (*object).dlpi_adds.wrapping_add((*object).dlpi_subs) };
        // The numbers are in each object: stop at the first.
        1
    }
    let mut changes = 0_u64;
    // SAFETY: `visit` keeps to the contract, and `changes` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut changes).cast()) };
    changes
}

/// Names of the loaded libraries whose file name, without its folder, `is_wanted`.
pub fn names(is_wanted: fn(&[u8]) -> bool) -> Vec<CString> {
    struct Search {
        is_wanted: fn(&[u8]) -> bool,
        found: Vec<CString>,
    }
    unsafe extern "C" fn visit(object: *mut libc::dl_phdr_info, _: libc::size_t, search: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid object, whose name is a string, and our own pointer.
        let (name, search) = unsafe { (CStr::from_ptr((*object).dlpi_name), &mut *search.cast::<Search>()) };
        if name.to_bytes().rsplit(|byte| *byte == b'/').next().is_some_and(search.is_wanted) {
            search.found.push(name.to_owned());
        }
        0
    }
    let mut search = Search { is_wanted, found: Vec::new() };
    // SAFETY: `visit` keeps to the contract, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut search).cast()) };
    search.found
}

/// The next `dlsym`, of the C library or of another interposed tool, as this library has its own ([`super::lookup`]); null until
/// it is looked up.
pub static NEXT_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Symbol versions of `dlsym` in the C library, the latest first.
#[cfg(target_arch = "x86_64")]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.34", c"GLIBC_2.2.5"];

type Function = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The next `dlsym`. On this architecture the library has none, so that it is the only one.
#[cfg(not(target_arch = "x86_64"))]
pub extern "C" fn find_dlsym() -> *mut c_void {
    libc::dlsym as *mut c_void
}

/// The next `dlsym`.
#[cfg(target_arch = "x86_64")]
pub extern "C" fn find_dlsym() -> *mut c_void {
    let version = |version: &&CStr| {
        // SAFETY: NUL-terminated strings; RTLD_NEXT is allowed in a library.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    let found = VERSIONS.iter().find_map(version).unwrap_or(ptr::null_mut());
    NEXT_DLSYM.store(found, Ordering::Release);
    found
}

/// Calls the next `dlsym`.
///
/// # Safety
/// The handle is open or a pseudo-handle; the name is NUL-terminated.
pub unsafe fn next_dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let known = NEXT_DLSYM.load(Ordering::Acquire);
    let found = if known.is_null() { find_dlsym() } else { known };
    if found.is_null() {
        return found;
    }
    // SAFETY: it is a function of this type.
    let function: Function = unsafe { std::mem::transmute(found) };
    // SAFETY: the caller's promise.
    unsafe { function(handle, name) }
}
