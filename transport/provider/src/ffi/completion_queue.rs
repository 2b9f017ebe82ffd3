//! The completion queue object.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use ofi_abi::*;

use super::handle::{Close, DomainHandle, Handle, new_fid, table};
use super::memory::copy_text;
use super::{call, fid_ops, guard};
use crate::completion::{Entry, FailedEntry};
use crate::completion_queue::CompletionQueue;
use crate::errno::{Errno, Outcome, read_plain};

/// A queue, and how its entries look.
pub(super) struct FormattedQueue {
    pub queue: Arc<CompletionQueue>,
    format: c_uint,
}

pub(super) type CompletionQueueHandle = Handle<fid_cq, FormattedQueue>;

impl Close for FormattedQueue {
    fn is_in_use(self: &Arc<Self>) -> bool {
        !read_plain(&self.queue.endpoints).is_empty()
    }
}

pub(super) static FID_OPS: fi_ops = fid_ops(CompletionQueueHandle::close);

static OPS: fi_ops_cq =
    fi_ops_cq { size: size_of::<fi_ops_cq>(), read, readfrom, readerr, sread, sreadfrom, signal, strerror };

/// First version whose error entries have `src_addr`.
const SRC_ADDR_SINCE: u32 = fi_version(1, 20);
/// First version in which the application may bring its own buffer for error data.
const OWN_ERR_DATA_SINCE: u32 = fi_version(1, 5);

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cq_attr,
    out: *mut *mut fid_cq,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: null or valid attributes, into which the chosen format is written.
        let attr = unsafe { attr.as_mut() };
        let (format, wait_object) = attr.as_ref().map_or((0, 0), |attr| (attr.format, attr.wait_obj));
        if !matches!(wait_object, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD) {
            return Err(Errno(FI_ENOSYS));
        }
        let format = match format {
            FI_CQ_FORMAT_UNSPEC => FI_CQ_FORMAT_CONTEXT,
            FI_CQ_FORMAT_CONTEXT..=FI_CQ_FORMAT_TAGGED => format,
            _ => return Err(Errno(FI_EINVAL)),
        };
        if let Some(attr) = attr {
            attr.format = format;
        }
        // SAFETY: the contract: an open domain of ours.
        let queue = Arc::new(CompletionQueue::new(unsafe { DomainHandle::object(domain) }.clone()));
        let queue = Arc::new(FormattedQueue { queue, format });
        let fid = new_fid(FI_CLASS_CQ, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { CompletionQueueHandle::open(out, fid_cq { fid, ops: table(&OPS) }, queue) }
    })
}

/// Milliseconds of C; negative: for ever.
pub(super) fn timeout(ms: c_int) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

#[inline]
pub(super) fn counted(body: impl FnOnce() -> Outcome<usize>) -> isize {
    guard(-(FI_EOTHER as isize), || body().map_or_else(|errno| -(errno.0 as isize), |count| count as isize))
}

unsafe extern "C" fn read(fid: *mut fid_cq, buffer: *mut c_void, count: usize) -> isize {
    counted(|| {
        // SAFETY: the contract: an open completion queue of ours, and room for `count` entries of its format.
        unsafe {
            let formatted = CompletionQueueHandle::object(fid);
            let mut writer = Writer { next: buffer, format: formatted.format };
            formatted.queue.read(count, |entry| writer.write(&entry))
        }
    })
}

unsafe extern "C" fn readfrom(fid: *mut fid_cq, buffer: *mut c_void, count: usize, sources: *mut fi_addr_t) -> isize {
    // SAFETY: the caller keeps the contract of the function called here.
    counted(|| unsafe { read_sources(fid, buffer, count, sources, Some(Duration::ZERO)) })
}

unsafe extern "C" fn sread(
    fid: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    _: *const c_void,
    timeout_ms: c_int,
) -> isize {
    counted(|| {
        // SAFETY: the contract: an open completion queue of ours, and room for `count` entries of its format.
        unsafe {
            let formatted = CompletionQueueHandle::object(fid);
            let mut writer = Writer { next: buffer, format: formatted.format };
            formatted.queue.wait(count, timeout(timeout_ms), |entry| writer.write(&entry))
        }
    })
}

unsafe extern "C" fn sreadfrom(
    fid: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut fi_addr_t,
    _: *const c_void,
    timeout_ms: c_int,
) -> isize {
    // SAFETY: the caller keeps the contract of the function called here.
    counted(|| unsafe { read_sources(fid, buffer, count, sources, timeout(timeout_ms)) })
}

/// Reads entries with their senders. These are looked up after the queue is unlocked, since that takes the lock of
/// the endpoint.
///
/// # Safety
/// `fid` is an open completion queue of ours; there is room for `count` entries and, unless null, as many sources.
unsafe fn read_sources(
    fid: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut fi_addr_t,
    timeout: Option<Duration>,
) -> Outcome<usize> {
    // SAFETY: the caller promises it.
    let formatted = unsafe { CompletionQueueHandle::object(fid) };
    let mut writer = Writer { next: buffer, format: formatted.format };
    let mut found = Vec::new();
    let take = |entry: Entry| {
        // SAFETY: the caller promises room for `count` entries, and no more are given.
        unsafe { writer.write(&entry) };
        found.push(entry.source);
    };
    let read = match timeout {
        Some(Duration::ZERO) => formatted.queue.read(count, take)?,
        timeout => formatted.queue.wait(count, timeout, take)?,
    };
    if !sources.is_null() {
        for (position, source) in found.into_iter().enumerate() {
            // SAFETY: the caller promises room for `count` sources.
            unsafe { sources.add(position).write(formatted.queue.address_of(source)) };
        }
    }
    Ok(read)
}

/// Writes entries one behind the other.
struct Writer {
    next: *mut c_void,
    format: c_uint,
}

impl Writer {
    /// # Safety
    /// There is room for an entry of the format.
    #[inline]
    unsafe fn write(&mut self, entry: &Entry) {
        let (op_context, flags, len) = (pointer(entry.context), entry.flags, entry.len as usize);
        let (buf, data, tag) = (pointer(entry.buffer), entry.data, entry.tag);
        // SAFETY: the caller promises the room; applications align their entries.
        unsafe {
            match self.format {
                FI_CQ_FORMAT_TAGGED => self.put(fi_cq_tagged_entry { op_context, flags, len, buf, data, tag }),
                FI_CQ_FORMAT_DATA => self.put(fi_cq_data_entry { op_context, flags, len, buf, data }),
                FI_CQ_FORMAT_MSG => self.put(fi_cq_msg_entry { op_context, flags, len }),
                _ => self.put(fi_cq_entry { op_context }),
            }
        }
    }

    /// # Safety
    /// There is room for a `T`.
    #[inline]
    unsafe fn put<T>(&mut self, value: T) {
        // SAFETY: the caller promises the room.
        unsafe {
            let place = self.next.cast::<T>();
            place.write(value);
            self.next = place.add(1).cast();
        }
    }
}

fn pointer(value: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(value as usize)
}

unsafe extern "C" fn readerr(fid: *mut fid_cq, out: *mut fi_cq_err_entry, _: u64) -> isize {
    counted(|| {
        if out.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: an open completion queue of ours.
        let formatted = unsafe { CompletionQueueHandle::object(fid) };
        let (failed, number) = formatted.queue.read_error().ok_or(Errno(FI_EAGAIN))?;
        // SAFETY: not null; the contract makes it an entry of the application's version.
        unsafe { write_error(&formatted.queue, out, &failed, number) };
        Ok(1)
    })
}

/// # Safety
/// `out` is an error entry of the application's version, whose error data members are set or zero.
unsafe fn write_error(queue: &CompletionQueue, out: *mut fi_cq_err_entry, failed: &FailedEntry, number: c_int) {
    let api_version = queue.domain.api_version;
    let text = queue.explain(number);
    // SAFETY: members are written in place, the last only where the structure has it. A buffer for error data that the
    // application brought has the length that it has given. The queue keeps the text as long as it exists itself.
    unsafe {
        (*out).op_context = pointer(failed.entry.context);
        (*out).flags = failed.entry.flags;
        (*out).len = failed.entry.len as usize;
        (*out).buf = pointer(failed.entry.buffer);
        (*out).data = failed.entry.data;
        (*out).tag = failed.entry.tag;
        (*out).olen = failed.excess as usize;
        (*out).err = failed.errno;
        (*out).prov_errno = number;
        let room = if api_version >= OWN_ERR_DATA_SINCE { (*out).err_data_size } else { 0 };
        match &text {
            Some(text) if room > 0 && !(*out).err_data.is_null() => {
                copy_text(text, (*out).err_data.cast(), room);
                (*out).err_data_size = text.to_bytes_with_nul().len().min(room);
            }
            Some(text) => {
                (*out).err_data = text.as_ptr().cast_mut().cast();
                (*out).err_data_size = text.to_bytes_with_nul().len();
            }
            None if room > 0 => (*out).err_data_size = 0,
            None => ((*out).err_data, (*out).err_data_size) = (null_mut(), 0),
        }
        if api_version >= SRC_ADDR_SINCE {
            (*out).src_addr = queue.address_of(failed.entry.source);
        }
    }
}

unsafe extern "C" fn signal(fid: *mut fid_cq) -> c_int {
    call(|| {
        // SAFETY: the contract: an open completion queue of ours.
        unsafe { CompletionQueueHandle::object(fid) }.queue.signal();
        Ok(())
    })
}

unsafe extern "C" fn strerror(
    fid: *mut fid_cq,
    number: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    guard(c"".as_ptr(), || {
        // SAFETY: the contract: an open completion queue of ours.
        let kept = unsafe { CompletionQueueHandle::object(fid) }.queue.explain(number);
        let text: &CStr = kept.as_deref().unwrap_or_else(|| describe(number));
        // SAFETY: the contract: null or `len` bytes.
        unsafe { copy_text(text, buffer, len) };
        // The queue keeps its texts, so this outlives `kept`.
        text.as_ptr()
    })
}

fn describe(number: c_int) -> &'static CStr {
    match number {
        FI_ETRUNC => c"the message was longer than the buffer",
        FI_ECANCELED => c"the operation was cancelled",
        FI_ENOMSG => c"no message matches",
        FI_ECONNRESET => c"the peer is lost",
        _ => c"unknown error",
    }
}
