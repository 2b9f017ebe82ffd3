//! The only place of this crate that may use `unsafe`: calls of functions that a library was asked for by name.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Room for a library's description of itself: MPICH asks for 8192, others for less.
const MAX_VERSION_LEN: usize = 1 << 16;

/// A library that is loaded. It is never closed, as MPI libraries leave threads and handlers behind.
pub struct Library {
    handle: *mut c_void,
    file: PathBuf,
}

impl Library {
    /// Loads it, with what it needs, for all of this process to see: parts that MPI libraries load later use its functions.
    pub fn open(file: &Path) -> Result<Library, String> {
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|_| format!("{file:?} is no file name"))?;
        // SAFETY: the name ends with a zero. What its constructors do is what they do in every program that is linked with it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() { Err(last_error()) } else { Ok(Library { handle, file: file.to_path_buf() }) }
    }

    /// `MPI_Init` without arguments. What it returned.
    pub fn init(&self) -> Result<i32, String> {
        let address = self.symbol(c"MPI_Init")?;
        // SAFETY: `int MPI_Init(int *, char ***)` in the standard's binding for C.
        let init: extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int = unsafe { std::mem::transmute(address) };
        Ok(init(std::ptr::null_mut(), std::ptr::null_mut()))
    }

    /// `MPI_Finalize`. What it returned.
    pub fn finalize(&self) -> Result<i32, String> {
        let address = self.symbol(c"MPI_Finalize")?;
        // SAFETY: `int MPI_Finalize(void)` in the standard's binding for C.
        let finalize: extern "C" fn() -> c_int = unsafe { std::mem::transmute(address) };
        Ok(finalize())
    }

    /// Its version text; may be called before it has been started.
    pub fn version(&self) -> Result<String, String> {
        let address = self.symbol(c"MPI_Get_library_version")?;
        // SAFETY: `int MPI_Get_library_version(char *, int *)` in the standard's binding for C.
        let version: extern "C" fn(*mut c_char, *mut c_int) -> c_int = unsafe { std::mem::transmute(address) };
        let (mut text, mut length) = (vec![0u8; MAX_VERSION_LEN], 0);
        let code = version(text.as_mut_ptr().cast(), &mut length);
        let end = text.iter().position(|byte| *byte == 0).unwrap_or_default();
        text.truncate(end);
        if code == 0 { Ok(String::from_utf8_lossy(&text).into_owned()) } else { Err(format!("error {code}")) }
    }

    fn symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle is open, the name ends with a zero.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        let missing = || format!("{} has no function {}", self.file.display(), name.to_string_lossy());
        if address.is_null() { Err(missing()) } else { Ok(address) }
    }
}

/// The version of a libfabric that is loaded, as `FI_VERSION` makes one number of it.
pub fn libfabric_version(file: &Path) -> Option<u32> {
    let library = Library::open(file).ok()?;
    let address = library.symbol(c"fi_version").ok()?;
    // SAFETY: `uint32_t fi_version(void)` of rdma/fabric.h.
    let version: extern "C" fn() -> u32 = unsafe { std::mem::transmute(address) };
    Some(version())
}

/// The dynamic linker's message about its last failure.
fn last_error() -> String {
    // SAFETY: a string of the linker's, or null; this thread calls nothing of the linker's before it has been copied.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker does not say why".into();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
