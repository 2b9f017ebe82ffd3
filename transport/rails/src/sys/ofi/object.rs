//! Objects of libfabric, each closed when it is dropped.

use ofi_abi::{fi_ops, fid, fid_av, fid_cq, fid_domain, fid_ep, fid_eq, fid_fabric, fid_mr, fid_pep};

/// A structure that begins with a `fid`.
///
/// # Safety
/// It does.
pub(super) unsafe trait Fid {}

// SAFETY: as libfabric's headers say, and the layout test of `ofi_abi`.
unsafe impl Fid for fid_fabric {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_domain {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_av {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_cq {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_ep {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_mr {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_eq {}
// SAFETY: as of `fid_fabric`.
unsafe impl Fid for fid_pep {}

/// An object that this process has opened.
pub(super) struct Object<T: Fid>(*mut T);

// SAFETY: used by one thread at a time, as everything of an endpoint is; libfabric ties no object to a thread.
unsafe impl<T: Fid> Send for Object<T> {}

impl<T: Fid> Object<T> {
    /// # Safety
    /// `object` is the result of a call that opens such an object, and is not closed elsewhere.
    pub(super) unsafe fn new(object: *mut T) -> Object<T> {
        Object(object)
    }

    pub(super) fn as_ptr(&self) -> *mut T {
        self.0
    }

    pub(super) fn fid(&self) -> *mut fid {
        self.0.cast()
    }

    /// Its functions that all objects have.
    pub(super) fn ops(&self) -> &fi_ops {
        // SAFETY: a live object, whose table of functions lives as long.
        unsafe { &*(*self.fid()).ops }
    }
}

impl<T: Fid> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: a live object, closed here alone.
        let closed = unsafe { (self.ops().close)(self.fid()) };
        if closed != 0 {
            log::debug!("libfabric does not close an object: error {}", -closed);
        }
    }
}
