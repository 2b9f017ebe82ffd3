//! The entry point for libfabric, and queries about the libfabric that called it.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Once;

use ofi_abi::{fi_context, fi_provider, fi_version};

use crate::ffi::{exit_status, fabric, info};
use crate::info::VERSION;

/// libfabric's interface version that `ofi_abi` describes.
const OUR_INTERFACE: u32 = fi_version(2, 5);

/// Stack frames that are searched for the caller: it is the next but one, unless a tool wraps the call.
const FRAMES: usize = 16;

struct Provider(UnsafeCell<fi_provider>);

// SAFETY: written once under `Once` before its address is given away; afterwards only libfabric's core uses it, which
// serialises its own calls.
unsafe impl Sync for Provider {}

static PROVIDER: Provider = Provider(UnsafeCell::new(fi_provider {
    version: VERSION,
    fi_version: OUR_INTERFACE,
    context: fi_context { internal: [null_mut(); 4] },
    name: c"fishplate".as_ptr(),
    getinfo: info::getinfo,
    fabric: fabric::open,
    cleanup,
}));

/// Called by libfabric once it has loaded this library. Returns the provider's functions.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut fi_provider {
    static ONCE: Once = Once::new();
    super::guard(null_mut(), || {
        ONCE.call_once(|| {
            let caller = caller_library();
            let version = caller.and_then(version_of).unwrap_or(OUR_INTERFACE).max(OUR_INTERFACE);
            caller.into_iter().for_each(fishplate_rails_ofi::use_library);
            // SAFETY: inside the `Once`, before the address has been given to anybody.
            unsafe { (*PROVIDER.0.get()).fi_version = version };
            if let Some(library) = library_of(fi_prov_ini as *const c_void) {
                exit_status::watch(library);
            }
        });
        PROVIDER.0.get()
    })
}

/// Called by libfabric before it unloads this library: ends all threads, as the application may have left endpoints open.
unsafe extern "C" fn cleanup() {
    super::guard((), crate::progress_thread::end_all);
}

/// Version of the libfabric that called: a newer one refuses providers that claim less than its applications ask for.
fn version_of(library: &CStr) -> Option<u32> {
    // SAFETY: `library` is a path from the loader. NOLOAD only opens what is already in memory.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: a live handle and a C string.
    let symbol = unsafe { libc::dlsym(handle, c"fi_version".as_ptr()) };
    let version = (!symbol.is_null()).then(|| {
        // SAFETY: libfabric documents `uint32_t fi_version(void)`.
        let ask: extern "C" fn() -> u32 = unsafe { std::mem::transmute(symbol) };
        ask()
    });
    // SAFETY: opened above; the caller itself keeps the library in memory.
    unsafe { libc::dlclose(handle) };
    version
}

/// Path of the library whose code called `fi_prov_ini`: the first frame that is not in this one. The application may
/// hold several libfabrics, or one under another name, so no name would do.
fn caller_library() -> Option<&'static CStr> {
    let own = origin(fi_prov_ini as *const c_void)?.dli_fbase;
    let mut frames = [null_mut(); FRAMES];
    // SAFETY: the array has the given number of entries.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as i32) };
    let frames = frames.get(..usize::try_from(count).ok()?)?;
    // This function's own frames come first; a tool may have put its own between.
    let outside = frames.iter().skip_while(|frame| origin(**frame).is_none_or(|origin| origin.dli_fbase != own));
    let caller = outside.copied().find(|frame| origin(*frame).is_some_and(|origin| origin.dli_fbase != own))?;
    library_of(caller)
}

/// Path of the library that an address of code belongs to, which must be in memory for good or during the call.
fn library_of(code: *const c_void) -> Option<&'static CStr> {
    let found = origin(code)?;
    // SAFETY: the loader keeps the names of loaded libraries.
    (!found.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(found.dli_fname) })
}

/// Which library an address of code belongs to.
fn origin(code: *const c_void) -> Option<libc::Dl_info> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and fills the structure if it knows it; zeroed is a valid value as well.
    let (known, found) = unsafe { (libc::dladdr(code, found.as_mut_ptr()), found.assume_init()) };
    (known != 0).then_some(found)
}
