//! The event queue object.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use ofi_abi::*;

use super::completion_queue::{counted, timeout};
use super::handle::{Close, FabricHandle, Handle, is_ours, new_fid, table};
use super::memory::copy_text;
use super::{call, fid_ops};
use crate::errno::{Errno, Outcome};
use crate::event_queue::{Event, EventQueue, Wish};

type EventQueueHandle = Handle<fid_eq, EventQueue>;

impl Close for EventQueue {}

pub(super) static FID_OPS: fi_ops = fi_ops { control, ..fid_ops(EventQueueHandle::close) };

static OPS: fi_ops_eq = fi_ops_eq { size: size_of::<fi_ops_eq>(), read, readerr, write, sread, strerror };

pub unsafe extern "C" fn open(
    fabric: *mut fid_fabric,
    attr: *mut fi_eq_attr,
    out: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: null or valid attributes.
        let wish = wish(unsafe { attr.as_ref() })?;
        // SAFETY: the contract: an open fabric of ours.
        let queue = Arc::new(EventQueue::new(wish, unsafe { FabricHandle::object(fabric) }.clone())?);
        let fid = new_fid(FI_CLASS_EQ, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { EventQueueHandle::open(out, fid_eq { fid, ops: table(&OPS) }, queue) }
    })
}

fn wish(attr: Option<&fi_eq_attr>) -> Outcome<Wish> {
    let Some(attr) = attr else { return Ok(Wish::default()) };
    if !matches!(attr.wait_obj, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_FD | FI_WAIT_YIELD) {
        return Err(Errno(FI_ENOSYS));
    }
    let descriptor = attr.wait_obj == FI_WAIT_FD;
    Ok(Wish { capacity: attr.size, writable: attr.flags & FI_WRITE != 0, descriptor })
}

unsafe extern "C" fn control(fid: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    call(|| {
        // SAFETY: the contract: an open event queue of ours.
        let descriptor = unsafe { EventQueueHandle::object(fid) }.descriptor();
        match (command, descriptor) {
            (FI_GETWAIT, Some(_)) if argument.is_null() => Err(Errno(FI_EINVAL)),
            // SAFETY: not null; the contract: the argument of this command is room for the descriptor.
            (FI_GETWAIT, Some(descriptor)) => unsafe {
                argument.cast::<c_int>().write(descriptor);
                Ok(())
            },
            _ => Err(Errno(FI_ENOSYS)),
        }
    })
}

/// Whether this is an event queue of ours, and empty.
///
/// # Safety
/// `fid` is an open object of ours.
pub unsafe fn is_empty(fid: *mut fid) -> bool {
    // SAFETY: the caller promises it; what it is, is checked before use.
    unsafe { is_ours(fid, FI_CLASS_EQ, &FID_OPS) && EventQueueHandle::object(fid).is_empty() }
}

unsafe extern "C" fn read(fid: *mut fid_eq, kind: *mut u32, buffer: *mut c_void, len: usize, flags: u64) -> isize {
    counted(|| {
        // SAFETY: the contract: an open event queue of ours.
        let queue = unsafe { EventQueueHandle::object(fid) };
        // SAFETY: the contract: null or room for a number, null or `len` bytes.
        queue.read(flags & FI_PEEK != 0, |event| unsafe { copy_out(event, kind, buffer, len) })
    })
}

unsafe extern "C" fn readerr(_: *mut fid_eq, _: *mut fi_eq_err_entry, _: u64) -> isize {
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn write(fid: *mut fid_eq, kind: u32, entry: *const c_void, len: usize, _: u64) -> isize {
    counted(|| {
        if entry.is_null() && len > 0 {
            return Err(Errno(FI_EINVAL));
        }
        let mut copy = vec![0u8; len];
        // SAFETY: the contract: `len` bytes, some of which the application may have left unset (the end of a structure):
        // they are copied and never looked at. An open event queue of ours.
        let queue = unsafe {
            if len > 0 {
                std::ptr::copy_nonoverlapping(entry.cast(), copy.as_mut_ptr(), len);
            }
            EventQueueHandle::object(fid)
        };
        queue.write(Event { kind, entry: copy.into_boxed_slice() })?;
        Ok(len)
    })
}

unsafe extern "C" fn sread(
    fid: *mut fid_eq,
    kind: *mut u32,
    buffer: *mut c_void,
    len: usize,
    timeout_ms: c_int,
    flags: u64,
) -> isize {
    counted(|| {
        // SAFETY: the contract: an open event queue of ours.
        let queue = unsafe { EventQueueHandle::object(fid) };
        // SAFETY: the contract: null or room for a number, null or `len` bytes.
        queue.wait(flags & FI_PEEK != 0, timeout(timeout_ms), |event| unsafe { copy_out(event, kind, buffer, len) })
    })
}

/// Copies an event to the application's buffer, cut to its length; returns the number of bytes.
///
/// # Safety
/// `kind` is null or valid for a write, `buffer` null or valid for writes of `len` bytes.
unsafe fn copy_out(event: &Event, kind: *mut u32, buffer: *mut c_void, len: usize) -> usize {
    let count = if buffer.is_null() { 0 } else { len.min(event.entry.len()) };
    // SAFETY: the caller promises it.
    unsafe {
        if !kind.is_null() {
            kind.write(event.kind);
        }
        if count > 0 {
            std::ptr::copy_nonoverlapping(event.entry.as_ptr(), buffer.cast(), count);
        }
    }
    count
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
