//! Socket options that the libraries in use lack.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// `TCP_RTO_MAX_MS` of linux/tcp.h, since Linux 6.15.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Queries an option of a TCP socket. Returns how many bytes of `value` the kernel has filled.
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

/// Bytes in the send queue that the peer's kernel has not acknowledged.
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: `bytes` is valid for writes of its size, which is what the kernel writes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.max(0) as u32) }
}

/// Sets the maximal pacing rate of a socket (`SO_MAX_PACING_RATE`), in bytes per second; `u64::MAX`: none.
pub fn set_max_pacing_rate(socket: BorrowedFd<'_>, most: u64) -> io::Result<()> {
    set(socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), most)
}

/// Reserves a receive window of this number of bytes, as far as the system's `tcp_rmem` allows, and leaves the kernel's auto-tuning
/// on. (`SO_RCVBUF` would switch it off, and is bounded by `rmem_max`.)
pub fn reserve_receive_window(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let option = (libc::SOL_SOCKET, libc::SO_RCVLOWAT);
    // The window that SO_RCVLOWAT reserves stays when the option is reset.
    set(socket, option, bytes)?;
    set(socket, option, 1)
}

/// Bounds the retransmission timeout; at least a second.
pub fn set_max_rto(socket: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    let most_ms = most.as_millis().min(120_000) as libc::c_int;
    set(socket, (libc::IPPROTO_TCP, TCP_RTO_MAX_MS), most_ms)
}

/// Forbids fragmentation of datagrams, here and by routers, whatever path MTU the kernel knows.
pub fn forbid_fragments(socket: BorrowedFd<'_>, is_ipv6: bool) -> io::Result<()> {
    let (option, value) = if is_ipv6 {
        ((libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER), libc::IPV6_PMTUDISC_PROBE)
    } else {
        ((libc::IPPROTO_IP, libc::IP_MTU_DISCOVER), libc::IP_PMTUDISC_PROBE)
    };
    set(socket, option, value)
}

/// Sets the option of that level and name.
fn set<T: Copy>(socket: BorrowedFd<'_>, (level, name): (libc::c_int, libc::c_int), value: T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for reads of its size.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn there_is_room_for_what_was_not_read_and_one_byte_is_enough_to_read() {
        const BYTES: u32 = 1 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        reserve_receive_window(client.as_fd(), BYTES).unwrap();
        assert!(socket2::SockRef::from(&client).recv_buffer_size().unwrap() >= BYTES as usize);
        io::Write::write_all(&mut server, &[7]).unwrap();
        let mut byte = [0];
        io::Read::read_exact(&mut &client, &mut byte).unwrap();
        assert_eq!(byte, [7]);
    }
}
