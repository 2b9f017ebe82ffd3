//! The counter object.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ofi_abi::*;

use super::completion_queue::timeout;
use super::handle::{Close, DomainHandle, Handle, new_fid, table};
use super::{call, fid_ops, guard};
use crate::counter::{Counter, Unit};
use crate::errno::{Errno, read_plain};

pub(super) type CounterHandle = Handle<fid_cntr, Counter>;

impl Close for Counter {
    fn is_in_use(self: &Arc<Self>) -> bool {
        !read_plain(&self.endpoints).is_empty()
    }
}

pub(super) static FID_OPS: fi_ops = fid_ops(CounterHandle::close);

static OPS: fi_ops_cntr = fi_ops_cntr { size: size_of::<fi_ops_cntr>(), read, readerr, add, set, wait, adderr, seterr };

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cntr_attr,
    out: *mut *mut fid_cntr,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: null or valid attributes.
        let (events, wait_object) = unsafe { attr.as_ref() }.map_or((0, 0), |attr| (attr.events, attr.wait_obj));
        if !matches!(wait_object, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD) {
            return Err(Errno(FI_ENOSYS));
        }
        let unit = match events {
            FI_CNTR_EVENTS_COMP => Unit::Completions,
            FI_CNTR_EVENTS_BYTES => Unit::Bytes,
            _ => return Err(Errno(FI_EINVAL)),
        };
        // SAFETY: the contract: an open domain of ours.
        let counter = Arc::new(Counter::new(unit, unsafe { DomainHandle::object(domain) }.clone()));
        let fid = new_fid(FI_CLASS_CNTR, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { CounterHandle::open(out, fid_cntr { fid, ops: table(&OPS) }, counter) }
    })
}

/// Runs `body` on the counter behind a handle.
///
/// # Safety
/// `fid` is an open counter of ours.
unsafe fn with<R>(fid: *mut fid_cntr, fallback: R, body: impl FnOnce(&Counter) -> R) -> R {
    // SAFETY: the caller promises it.
    guard(fallback, || body(unsafe { CounterHandle::object(fid) }))
}

unsafe extern "C" fn read(fid: *mut fid_cntr) -> u64 {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, 0, Counter::read) }
}

unsafe extern "C" fn readerr(fid: *mut fid_cntr) -> u64 {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, 0, Counter::read_errors) }
}

unsafe extern "C" fn add(fid: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, (), |counter| counter.add(value)) };
    0
}

unsafe extern "C" fn set(fid: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, (), |counter| counter.set(value)) };
    0
}

unsafe extern "C" fn adderr(fid: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, (), |counter| counter.add_errors(value)) };
    0
}

unsafe extern "C" fn seterr(fid: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: the contract: an open counter of ours.
    unsafe { with(fid, (), |counter| counter.set_errors(value)) };
    0
}

unsafe extern "C" fn wait(fid: *mut fid_cntr, threshold: u64, timeout_ms: c_int) -> c_int {
    // SAFETY: the contract: an open counter of ours.
    call(|| unsafe { CounterHandle::object(fid) }.wait(threshold, timeout(timeout_ms)))
}
