//! Gathering sends and scattering receives on non-blocking sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use fishplate_engine::Extent;
use fishplate_link_core::UserMemory;
use rustix::net::{RecvFlags, SendFlags};

/// Pieces of one system call, at most; others are left for the next. Bounds the array on the stack.
pub const MAX_PIECES: usize = 64;

/// A closed connection is an error, not a signal.
const SEND_FLAGS: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// A piece to send.
pub enum Piece<'a> {
    /// Bytes of this crate.
    Own(&'a [u8]),
    /// Bytes of the user.
    User(Extent),
}

/// Sends as much of `pieces` as the socket takes; returns the number of bytes.
pub fn send<'a>(
    socket: BorrowedFd<'_>,
    memory: &UserMemory,
    pieces: impl Iterator<Item = Piece<'a>>,
) -> io::Result<usize> {
    let mut iovecs = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; MAX_PIECES];
    let mut count = 0;
    for (slot, piece) in iovecs.iter_mut().zip(pieces) {
        *slot = match piece {
            Piece::Own(bytes) => libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() },
            Piece::User(extent) => iovec(memory, &extent),
        };
        count += 1;
    }
    // SAFETY: msghdr is plain data; all zeros is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = iovecs.as_mut_ptr();
    message.msg_iovlen = count;
    // SAFETY: the iovecs name memory that is valid for reads: our own slices, borrowed for this call, and user memory
    // for which `memory` vouches.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, SEND_FLAGS) };
    checked(sent)
}

/// [`send`] for a single piece, which is cheaper. (Not through the C library, whose functions are cancellation points: these cost two
/// atomic operations on each of the many calls for short messages.)
pub fn send_own(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
}

/// Receives into `extents` of user memory and, once they are full, into `then`; returns the number of bytes.
pub fn receive(socket: BorrowedFd<'_>, memory: &UserMemory, extents: &[Extent], then: &mut [u8]) -> io::Result<usize> {
    let mut iovecs = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; MAX_PIECES];
    let mut count = 0;
    for extent in extents.iter().take(MAX_PIECES - 1) {
        iovecs[count] = iovec(memory, extent);
        count += 1;
    }
    if extents.len() < MAX_PIECES {
        iovecs[count] = libc::iovec { iov_base: then.as_mut_ptr().cast(), iov_len: then.len() };
        count += 1;
    }
    // SAFETY: the iovecs name memory that is valid for writes: our own slice, borrowed for this call, and user memory
    // for which `memory` vouches.
    let received = unsafe { libc::readv(socket.as_raw_fd(), iovecs.as_ptr(), count as libc::c_int) };
    checked(received)
}

/// Receives into `into`; returns the number of bytes.
pub fn receive_own(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    let (_, received) = rustix::net::recv(socket, into, RecvFlags::DONTWAIT)?;
    Ok(received)
}

fn iovec(memory: &UserMemory, extent: &Extent) -> libc::iovec {
    libc::iovec { iov_base: memory.address(extent).cast(), iov_len: extent.len as usize }
}

fn checked(result: isize) -> io::Result<usize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}
