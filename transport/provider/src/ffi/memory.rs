//! The application's memory as the engine's payloads, and text for the application's buffers.

use std::ffi::{CStr, c_char, c_void};

use fishplate_engine::{Atomic, Extent, Payload, Region};
use ofi_abi::{FI_EINVAL, fi_ioc, iovec};

use crate::errno::{Errno, Outcome};
use crate::info::IOV_LIMIT;

/// One piece of memory. The application keeps it valid until the operation completes.
#[inline]
pub fn piece(buffer: *const c_void, len: usize) -> Payload {
    Payload::One(extent(buffer, len))
}

/// Several pieces of memory.
///
/// # Safety
/// `iov` is valid for reads of `count` entries.
pub unsafe fn pieces(iov: *const iovec, count: usize) -> Outcome<Payload> {
    // SAFETY: the caller promises it.
    Ok(match unsafe { parts(iov, count) }? {
        [] => Payload::EMPTY,
        [only] => piece(only.iov_base, only.iov_len),
        many => Payload::Many(many.iter().map(|part| extent(part.iov_base, part.iov_len)).collect()),
    })
}

/// Several pieces of memory with elements of the type of `what`, and the number of elements.
///
/// # Safety
/// `ioc` is valid for reads of `count` entries.
pub unsafe fn counted_pieces(what: &Atomic, ioc: *const fi_ioc, count: usize) -> Outcome<(Payload, usize)> {
    // SAFETY: the caller promises it.
    let ioc = unsafe { parts(ioc, count) }?;
    let size = what.datatype().size() as usize;
    let len = |part: &fi_ioc| part.count.checked_mul(size).ok_or(Errno(FI_EINVAL));
    let all = ioc.iter().try_fold(0usize, |sum, part| sum.checked_add(part.count)).ok_or(Errno(FI_EINVAL))?;
    let extents: Outcome<Box<[Extent]>> = ioc.iter().map(|part| Ok(extent(part.addr, len(part)?))).collect();
    let payload = match *extents? {
        [] => Payload::EMPTY,
        [only] => Payload::One(only),
        ref many => Payload::Many(many.into()),
    };
    Ok((payload, all))
}

/// The entries of an array of pieces.
///
/// # Safety
/// `array` is valid for reads of `count` entries.
unsafe fn parts<'a, T>(array: *const T, count: usize) -> Outcome<&'a [T]> {
    match count {
        0 => Ok(&[]),
        // SAFETY: not null, and the caller promises `count` entries.
        1..=IOV_LIMIT if !array.is_null() => Ok(unsafe { std::slice::from_raw_parts(array, count) }),
        _ => Err(Errno(FI_EINVAL)),
    }
}

#[inline]
fn extent(buffer: *const c_void, len: usize) -> Extent {
    Extent { region: Region(buffer.expose_provenance() as u64), offset: 0, len: len as u64 }
}

/// Copies a text into a buffer of `len` bytes, cut to fit, always ended with a zero.
///
/// # Safety
/// `buffer` is null or valid for writes of `len` bytes.
pub unsafe fn copy_text(text: &CStr, buffer: *mut c_char, len: usize) {
    if buffer.is_null() || len == 0 {
        return;
    }
    let bytes = text.to_bytes();
    let count = bytes.len().min(len - 1);
    // SAFETY: `count + 1 <= len` bytes are written into a buffer that the caller promises; `text` has `count` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), buffer, count);
        buffer.add(count).write(0);
    }
}
