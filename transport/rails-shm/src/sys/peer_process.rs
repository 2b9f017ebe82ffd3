//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Such a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerProcess {
    /// Its user.
    pub uid: u32,
    /// Its process id in the namespace of this process; 0: it has none there.
    pub pid: i32,
}

/// Queries the process at the other end of a Unix socket.
pub fn peer_process(socket: BorrowedFd<'_>) -> io::Result<PeerProcess> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` is valid for writes of `len` bytes, and the kernel writes no more; it has numbers only.
    let result = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut peer).cast(), &mut len)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(PeerProcess { uid: peer.uid, pid: peer.pid }) }
}
