//! System calls without a safe wrapper in a library: real-time priority, and requests to TAP devices.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The middle of the range, so that other real-time threads of the machine can have a higher priority.
const PRIORITY: libc::c_int = 50;

/// Gives this thread real-time priority (SCHED_FIFO), if permitted; children do not inherit it.
pub fn run_ahead_of_others() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: 0 means the calling thread; the call only reads the structure, which is valid for its duration.
    let code = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct ifreq` as TUNSETIFF reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    /// Padding to the size that the kernel copies.
    rest: [u8; 22],
}

/// Turns an open `/dev/net/tun` into a TAP device of this name, whose frames begin with virtio headers.
pub fn attach_tap(device: impl AsFd, name: &str) -> io::Result<()> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
    let bytes = name.as_bytes();
    if bytes.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    request.name[..bytes.len()].copy_from_slice(bytes);
    request.flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: the request reads and writes a `struct ifreq`; `Request` has its layout and size.
    let code = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the offloads (`TUN_F_*`) that frames read from a TAP device may rely on.
pub fn set_offload(device: impl AsFd, offload: libc::c_uint) -> io::Result<()> {
    // SAFETY: the request takes its argument by value.
    let code = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offload)) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
