//! The memory region object.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use fishplate_engine::Payload;
use ofi_abi::*;

use super::handle::{Close, DomainHandle, Handle, new_fid};
use super::memory::{piece, pieces};
use super::{call, fid_ops};
use crate::domain::Domain;
use crate::errno::{Errno, Outcome};

/// A region keeps its domain open.
struct MemoryRegion {
    domain: Arc<Domain>,
    key: u64,
}

type MemoryRegionHandle = Handle<fid_mr, MemoryRegion>;

impl Close for MemoryRegion {
    fn end(self: &Arc<Self>) {
        self.domain.regions.remove(self.key);
    }
}

static FID_OPS: fi_ops = fi_ops { bind, ..fid_ops(MemoryRegionHandle::close) };

pub(super) static OPS: fi_ops_mr = fi_ops_mr { size: size_of::<fi_ops_mr>(), reg, regv, regattr };

/// Registers `memory`.
///
/// # Safety
/// `domain` is an open domain of ours, `out` is null or valid for a write; peers may access the memory until the region
/// is closed.
unsafe fn register(
    domain: *mut fid,
    memory: Payload,
    (access, key): (u64, u64),
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> Outcome<()> {
    if out.is_null() {
        return Err(Errno(FI_EINVAL));
    }
    // The total length must not overflow.
    memory.extents().iter().try_fold(0, |sum: u64, extent| sum.checked_add(extent.len)).ok_or(Errno(FI_EINVAL))?;
    // SAFETY: the caller promises it.
    let domain = unsafe { DomainHandle::object(domain) }.clone();
    let start = memory.extents().first().map_or(0, |extent| extent.region.0);
    let key = domain.regions.add(memory, start, access, key)?;
    let region = Arc::new(MemoryRegion { domain, key });
    let fid = new_fid(FI_CLASS_MR, context, &FID_OPS);
    // SAFETY: the caller promises it.
    unsafe { MemoryRegionHandle::open(out, fid_mr { fid, mem_desc: null_mut(), key }, region) }
}

unsafe extern "C" fn reg(
    domain: *mut fid,
    buffer: *const c_void,
    len: usize,
    access: u64,
    _: u64,
    key: u64,
    _: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the contract. A buffer at zero of the greatest length stands for all memory, of which peers may access
    // what is there.
    call(|| unsafe { register(domain, piece(buffer, len), (access, key), out, context) })
}

unsafe extern "C" fn regv(
    domain: *mut fid,
    iov: *const iovec,
    count: usize,
    access: u64,
    _: u64,
    key: u64,
    _: u64,
    out: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the contract: `count` entries, and as above.
    call(|| unsafe { register(domain, pieces(iov, count)?, (access, key), out, context) })
}

unsafe extern "C" fn regattr(domain: *mut fid, attr: *const fi_mr_attr, _: u64, out: *mut *mut fid_mr) -> c_int {
    call(|| {
        if attr.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null; the contract makes it valid. Only members that every library's structure has are read, in
        // place: the structure may be shorter than ours.
        let (memory, access, key, context) = unsafe {
            let memory = pieces((*attr).mr_iov, (*attr).iov_count)?;
            (memory, (*attr).access, (*attr).requested_key, (*attr).context)
        };
        // SAFETY: the contract.
        unsafe { register(domain, memory, (access, key), out, context) }
    })
}

/// Binding endpoints and counters is allowed and has no effect: a region is for all endpoints of its domain, and peers' accesses are
/// not counted.
unsafe extern "C" fn bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    0
}
