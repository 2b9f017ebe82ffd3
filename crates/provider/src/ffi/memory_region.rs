//! Memory regions: nothing needs registering, so a region is its key.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use ofi_abi::*;

use super::domain::DomainHandle;
use super::handle::{Handle, hand_over, new_fid};
use super::{call, no_control, no_ops_open, no_ops_set, no_tostr};
use crate::domain::Domain;
use crate::errno::Errno;

/// A region keeps its domain open.
struct MemoryRegion {
    _domain: Arc<Domain>,
}

type MemoryRegionHandle = Handle<fid_mr, MemoryRegion>;

static FID_OPS: fi_ops = fi_ops {
    size: size_of::<fi_ops>(),
    close,
    bind,
    control: no_control,
    ops_open: no_ops_open,
    tostr: no_tostr,
    ops_set: no_ops_set,
};

pub(super) static OPS: fi_ops_mr = fi_ops_mr { size: size_of::<fi_ops_mr>(), reg, regv, regattr };

unsafe extern "C" fn reg(
    domain: *mut fid,
    _: *const c_void,
    _: usize,
    _: u64,
    _: u64,
    key: u64,
    _: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: an open domain of ours.
        let region = Arc::new(MemoryRegion { _domain: unsafe { DomainHandle::object(domain) }.clone() });
        let fid = new_fid(FI_CLASS_MR, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { hand_over(out, || MemoryRegionHandle::create(fid_mr { fid, mem_desc: null_mut(), key }, region)) }
    })
}

unsafe extern "C" fn regv(
    domain: *mut fid,
    _: *const iovec,
    _: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the same promises of the same caller.
    unsafe { reg(domain, std::ptr::null(), 0, access, offset, key, flags, out, context) }
}

unsafe extern "C" fn regattr(domain: *mut fid, attr: *const fi_mr_attr, flags: u64, out: *mut *mut fid_mr) -> c_int {
    if attr.is_null() {
        return -Errno(FI_EINVAL).0;
    }
    // SAFETY: not null; the contract makes it valid. Only members that every library's structure has are read, in
    // place: the structure may be shorter than ours.
    unsafe { reg(domain, std::ptr::null(), 0, 0, 0, (*attr).requested_key, flags, out, (*attr).context) }
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: the contract: one of ours, not used any more.
        unsafe { MemoryRegionHandle::free(fid) };
        Ok(())
    })
}

/// Endpoints and counters may be bound; without remote access they have nothing to do.
unsafe extern "C" fn bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    0
}
