//! Socket options that no library knows, or not all of.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// `TCP_RTO_MAX_MS` of linux/tcp.h, since Linux 6.15.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Asks for an option of a TCP socket. How many bytes of `value` the kernel has filled.
///
/// # Safety
/// Any bytes make a `T`.
pub unsafe fn tcp_option<T>(socket: BorrowedFd<'_>, name: libc::c_int, value: &mut T) -> io::Result<usize> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for writes of `len` bytes, and the kernel writes no more; any make a `T`, as the caller says.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, name, (&raw mut *value).cast(), &mut len) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}

/// Bounds the time until the kernel sends again what was not acknowledged; at least a second.
pub fn repeat_within(socket: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    let most_ms = most.as_millis().min(120_000) as libc::c_int;
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `most_ms` is valid for reads of its size.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, TCP_RTO_MAX_MS, (&raw const most_ms).cast(), len)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
