//! Objects as C sees them: libfabric's structure, followed by ours.

use std::ffi::{c_int, c_void};
use std::ptr::{addr_of, from_ref};
use std::sync::Arc;

use ofi_abi::{FI_EBUSY, FI_EINVAL, fi_ops, fid, fid_domain, fid_ep, fid_fabric};

use super::call;
use crate::domain::{Domain, Fabric};
use crate::endpoint::Endpoint;
use crate::errno::{Errno, Outcome};

/// A libfabric object `B` (whose first member is its `fid`) with the object `T` behind it. C holds pointers to `B`
/// and may write there, so it is only ever read and written in place, never borrowed.
#[repr(C)]
pub struct Handle<B, T> {
    base: B,
    object: Arc<T>,
}

pub type FabricHandle = Handle<fid_fabric, Fabric>;
pub type DomainHandle = Handle<fid_domain, Domain>;
pub type EndpointHandle = Handle<fid_ep, Endpoint>;

/// What an object does when C closes it.
pub trait Close {
    /// Whether other objects use it, so that it stays open.
    fn is_in_use(self: &Arc<Self>) -> bool {
        false
    }

    /// Its last work.
    fn end(self: &Arc<Self>) {}
}

impl<B, T: Close> Handle<B, T> {
    /// Writes a new handle for C to `out`: the result of an open call. Its memory does not move until [`Handle::close`].
    ///
    /// # Safety
    /// `out` is null or valid for a write.
    pub unsafe fn open(out: *mut *mut B, base: B, object: Arc<T>) -> Outcome<()> {
        if out.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null, and the caller promises that it is valid.
        unsafe { out.write(Box::into_raw(Box::new(Handle { base, object })).cast()) };
        Ok(())
    }

    /// `close` of libfabric.
    ///
    /// # Safety
    /// The contract: `handle` is one of these, not closed before.
    pub unsafe extern "C" fn close(handle: *mut fid) -> c_int {
        call(|| {
            // SAFETY: the caller promises it.
            let object = unsafe { Self::object(handle) };
            if object.is_in_use() {
                return Err(Errno(FI_EBUSY));
            }
            object.end();
            // SAFETY: `open` made it from a box of this type; nobody uses it any more.
            drop(unsafe { Box::from_raw(handle.cast::<Self>()) });
            Ok(())
        })
    }

    /// The object behind a handle.
    ///
    /// # Safety
    /// `handle` came from `open` of the same types, and is not closed while the result is used.
    #[inline]
    pub unsafe fn object<'a, C>(handle: *mut C) -> &'a Arc<T> {
        // SAFETY: the caller promises that a live handle of this type is there; C does not touch this member.
        unsafe { &*addr_of!((*handle.cast::<Self>()).object) }
    }
}

pub fn new_fid(class: usize, context: *mut c_void, ops: &'static fi_ops) -> fid {
    fid { fclass: class, context, ops: table(ops) }
}

/// A function table for C's structures. Nobody writes to it, although C's type would allow it.
pub fn table<T>(table: &'static T) -> *mut T {
    from_ref(table).cast_mut()
}

/// Whether a `fid` is one of ours of the kind that has these `ops`.
///
/// # Safety
/// `object` points to a `fid`.
pub unsafe fn is_ours(object: *mut fid, class: usize, ops: &'static fi_ops) -> bool {
    // SAFETY: the caller promises a fid; only its own members are read.
    unsafe { (*object).fclass == class && std::ptr::eq((*object).ops, ops) }
}
