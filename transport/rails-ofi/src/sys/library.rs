//! The functions of a libfabric.

use std::ffi::{CStr, c_char, c_int, c_void};

use ofi_abi::{fi_fabric_attr, fi_info, fi_version, fid_fabric};

use super::{Error, text};

/// Requested interface version: its structures are those of [`ofi_abi`], and of all later releases.
const INTERFACE: u32 = fi_version(1, 15);

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type Fabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;

/// A libfabric that stays in memory.
#[derive(Clone, Copy)]
pub struct Library {
    pub(super) getinfo: GetInfo,
    pub(super) freeinfo: unsafe extern "C" fn(*mut fi_info),
    pub(super) dupinfo: unsafe extern "C" fn(*const fi_info) -> *mut fi_info,
    pub(super) fabric: Fabric,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: u32,
}

impl Library {
    /// Opens the library at `path`, or by that name on the loader's search path; `is_loaded`: only if it is loaded already.
    pub fn open(path: &CStr, is_loaded: bool) -> Result<Library, String> {
        let only_loaded = if is_loaded { libc::RTLD_NOLOAD } else { 0 };
        // SAFETY: a C string. The user who names the library is responsible for its initialization code.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NODELETE | only_loaded) };
        if handle.is_null() {
            // SAFETY: the loader's text of the last error, null or a C string.
            return Err(unsafe { text(libc::dlerror()) });
        }
        let symbol = |name: &CStr| {
            // SAFETY: a live handle and a C string.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() {
                return Err(format!("{} has no {}", path.to_string_lossy(), name.to_string_lossy()));
            }
            Ok(found)
        };
        // SAFETY: libfabric documents these functions with these types, of every release; NODELETE keeps them.
        unsafe {
            let version: extern "C" fn() -> u32 = std::mem::transmute(symbol(c"fi_version")?);
            Ok(Library {
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(symbol(c"fi_getinfo")?),
                freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut fi_info)>(symbol(
                    c"fi_freeinfo",
                )?),
                dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const fi_info) -> *mut fi_info>(
                    symbol(c"fi_dupinfo")?,
                ),
                fabric: std::mem::transmute::<*mut c_void, Fabric>(symbol(c"fi_fabric")?),
                strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(symbol(
                    c"fi_strerror",
                )?),
                version: version(),
            })
        }
    }

    /// The interface version to request.
    pub(super) fn interface(&self) -> u32 {
        self.version.min(INTERFACE)
    }

    /// Its version, for display.
    pub fn version(&self) -> String {
        format!("{}.{}", self.version >> 16, self.version & 0xffff)
    }

    /// Converts the return value of a call, 0 or more, or a negative error number, to a result.
    pub(super) fn check(&self, call: &'static str, returned: isize) -> Result<usize, Error> {
        usize::try_from(returned).map_err(|_| self.error(call, -returned as i32))
    }

    pub(super) fn error(&self, call: &'static str, number: i32) -> Error {
        // SAFETY: takes any number, and returns null or a C string that stays.
        let text = unsafe { text((self.strerror)(number)) };
        Error { call, number, text }
    }
}
