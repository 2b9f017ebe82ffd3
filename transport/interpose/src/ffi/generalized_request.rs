//! Requests that the program waits for and this library completes.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::abi::Abi;
use super::functions::{self as mpi, Handle};
use super::objects::{Error, Result, check};

pub struct GeneralizedRequest {
    request: Handle,
    /// Result for the program of the call that completes the request.
    code: Arc<AtomicI32>,
}

impl GeneralizedRequest {
    /// Starts a generalized request and stores its handle in `slot`.
    ///
    /// # Safety
    /// `slot` must point to a handle.
    pub(super) unsafe fn start(abi: &Abi, slot: mpi::Slot) -> Result<GeneralizedRequest> {
        let code = Arc::new(AtomicI32::new(0));
        let extra = Arc::into_raw(code.clone()).cast_mut().cast();
        let (query, free, cancel) = (query as *mut c_void, free as *mut c_void, cancel as *mut c_void);
        // SAFETY: functions of the types that MPI requires; `slot` is the caller's promise.
        check(unsafe { mpi::Grequest_start(query, free, cancel, extra, slot) })?;
        let mut request: Handle = 0;
        // SAFETY: MPI has just stored a handle there.
        unsafe { ptr::copy_nonoverlapping(slot.cast::<u8>(), ptr::from_mut(&mut request).cast(), abi.handle_bytes) };
        Ok(GeneralizedRequest { request: abi.clean(request), code })
    }

    /// Completes the request: the program's next test of it succeeds.
    pub fn complete(self, result: Result<()>) {
        self.code.store(result.err().map_or(0, |Error(code)| code), Ordering::Release);
        // SAFETY: a started request, which is completed only once, as `self` is consumed.
        unsafe { mpi::Grequest_complete(self.request) };
    }
}

unsafe extern "C" fn query(extra: *mut c_void, status: *mut c_void) -> c_int {
    // SAFETY: `start` made the pointer from an `Arc`, and `free` has not been called.
    let code = unsafe { &*extra.cast::<AtomicI32>() }.load(Ordering::Acquire);
    if let Some(abi) = Abi::get() {
        // SAFETY: MPI passes a status to fill in.
        unsafe { mpi::Status_set_elements(status, abi.byte, 0) };
        // SAFETY: as above.
        unsafe { mpi::Status_set_cancelled(status, 0) };
    }
    code
}

unsafe extern "C" fn free(extra: *mut c_void) -> c_int {
    // SAFETY: `start` made the pointer from an `Arc`, and MPI calls this once.
    drop(unsafe { Arc::from_raw(extra.cast::<AtomicI32>()) });
    0
}

/// Collective operations cannot be cancelled.
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    0
}
