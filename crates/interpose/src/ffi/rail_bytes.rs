//! What the provider in this process has carried over each rail, if the MPI has loaded it.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// Most rails that are looked at.
const MAX_RAILS: usize = 24;

/// A rail, as the provider writes it (`crates/provider/src/ffi/rail_bytes.rs`).
#[repr(C)]
#[derive(Clone, Copy)]
struct RawRail {
    name: [u8; 16],
    sent: u64,
    received: u64,
}

type Function = unsafe extern "C" fn(*mut RawRail, usize) -> usize;

/// The provider in this process.
#[derive(Clone, Copy)]
pub struct Provider(Function);

/// Bytes of a rail since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Its interface.
    pub name: String,
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
}

impl Provider {
    /// Finds it: a library whose file is called as this project calls it.
    pub fn find() -> Option<Provider> {
        unsafe extern "C" fn visit(object: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
            // SAFETY: dl_iterate_phdr passes a valid object, whose name is a string, and our own pointer.
            let (name, found) = unsafe { (CStr::from_ptr((*object).dlpi_name), &mut *found.cast::<Option<_>>()) };
            let is_it =
                [&b"libfishplate-fi.so"[..], b"libfishplate_fi.so"].iter().any(|file| name.to_bytes().ends_with(file));
            if is_it {
                *found = Some(name.to_owned());
            }
            c_int::from(is_it)
        }
        let mut name: Option<std::ffi::CString> = None;
        // SAFETY: `visit` keeps to the contract, and `name` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut name).cast()) };
        // SAFETY: the name ends with a zero; RTLD_NOLOAD runs no code of the library. It stays loaded as this is not
        // closed again.
        let library = unsafe { libc::dlopen(name?.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // SAFETY: an open library.
        let address = unsafe { libc::dlsym(library, c"fishplate_rail_bytes".as_ptr()) };
        // SAFETY: the provider's function of this name has this type.
        (!address.is_null()).then(|| Provider(unsafe { std::mem::transmute::<*mut c_void, Function>(address) }))
    }

    /// All rails.
    pub fn rails(self) -> Vec<Rail> {
        let mut raw = [const { MaybeUninit::<RawRail>::uninit() }; MAX_RAILS];
        // SAFETY: room for so many rails.
        let count = unsafe { (self.0)(raw.as_mut_ptr().cast(), MAX_RAILS) };
        // SAFETY: the provider has written as many as it says.
        raw.iter().take(count).map(|rail| unsafe { rail.assume_init() }).map(Rail::from).collect()
    }
}

impl From<RawRail> for Rail {
    fn from(raw: RawRail) -> Rail {
        let length = raw.name.iter().position(|byte| *byte == 0).unwrap_or(raw.name.len());
        Rail { name: String::from_utf8_lossy(&raw.name[..length]).into_owned(), sent: raw.sent, received: raw.received }
    }
}
