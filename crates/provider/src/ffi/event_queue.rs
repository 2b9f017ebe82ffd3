//! The event queue. Nothing here happens asynchronously, so it stays empty.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use ofi_abi::*;

use super::fabric::FabricHandle;
use super::handle::{Handle, hand_over, new_fid, table};
use super::memory::copy_text;
use super::{call, no_bind, no_control, no_ops_open, no_ops_set, no_tostr, refuse};
use crate::domain::Fabric;

/// An event queue keeps its fabric open.
struct EventQueue {
    _fabric: Arc<Fabric>,
}

type EventQueueHandle = Handle<fid_eq, EventQueue>;

pub(super) static FID_OPS: fi_ops = fi_ops {
    size: size_of::<fi_ops>(),
    close,
    bind: no_bind,
    control: no_control,
    ops_open: no_ops_open,
    tostr: no_tostr,
    ops_set: no_ops_set,
};

static OPS: fi_ops_eq = fi_ops_eq { size: size_of::<fi_ops_eq>(), read, readerr, write, sread, strerror };

refuse! {
    write(*mut fid_eq, u32, *const c_void, usize, u64) -> isize;
}

pub unsafe extern "C" fn open(
    fabric: *mut fid_fabric,
    _: *mut fi_eq_attr,
    out: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: an open fabric of ours.
        let queue = Arc::new(EventQueue { _fabric: unsafe { FabricHandle::object(fabric) }.clone() });
        let fid = new_fid(FI_CLASS_EQ, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { hand_over(out, || EventQueueHandle::create(fid_eq { fid, ops: table(&OPS) }, queue)) }
    })
}

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: the contract: one of ours, not used any more.
        unsafe { EventQueueHandle::free(fid) };
        Ok(())
    })
}

unsafe extern "C" fn read(_: *mut fid_eq, _: *mut u32, _: *mut c_void, _: usize, _: u64) -> isize {
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn readerr(_: *mut fid_eq, _: *mut fi_eq_err_entry, _: u64) -> isize {
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn sread(_: *mut fid_eq, _: *mut u32, _: *mut c_void, _: usize, timeout: c_int, _: u64) -> isize {
    // No event can come. Without a timeout this would never return, so it returns at once.
    std::thread::sleep(Duration::from_millis(timeout.max(0) as u64));
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn strerror(
    _: *mut fid_eq,
    _: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    let text = c"no error";
    // SAFETY: the contract: null or `len` bytes.
    unsafe { copy_text(text, buffer, len) };
    text.as_ptr()
}
