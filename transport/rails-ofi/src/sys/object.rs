//! Objects of libfabric, each closed when it is dropped.

use std::ptr::null_mut;

use ofi_abi::{fi_ops, fid, fid_av, fid_cq, fid_domain, fid_ep, fid_eq, fid_fabric, fid_mr, fid_pep};

use super::{Error, Library};

/// A structure that begins with a `fid`.
///
/// # Safety
/// It does.
pub(super) unsafe trait Fid {}

macro_rules! fids {
    ($($object:ident)*) => {$(
        // SAFETY: as libfabric's headers say, and the layout test of `ofi_abi`.
        unsafe impl Fid for $object {}
    )*};
}

fids!(fid_fabric fid_domain fid_av fid_cq fid_ep fid_mr fid_eq fid_pep);

/// An object that this process has opened.
pub(super) struct Object<T: Fid>(*mut T);

// SAFETY: used by one thread at a time, as everything of an endpoint is; libfabric ties no object to a thread.
unsafe impl<T: Fid> Send for Object<T> {}

impl<T: Fid> Object<T> {
    /// Opens one.
    ///
    /// # Safety
    /// `open` is `call`, which writes a pointer to such an object if it returns 0; it is not closed elsewhere.
    pub(super) unsafe fn open(
        library: &Library,
        call: &'static str,
        open: impl FnOnce(*mut *mut T) -> i32,
    ) -> Result<Object<T>, Error> {
        let mut object = null_mut();
        library.check(call, open(&raw mut object) as isize)?;
        Ok(Object(object))
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
