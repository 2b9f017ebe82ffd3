//! Traffic of this process over TCP connections to other hosts that do not belong to the provider's rails.

use std::ffi::{c_int, c_void};
use std::fs;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, TcpStream};
use std::os::fd::FromRawFd;
use std::path::Path;

use fishplate_profile::notes::Elsewhere;

use super::dynamic_linker;

/// `tcpi_bytes_acked` and `tcpi_bytes_received` in `struct tcp_info` (linux/tcp.h).
const ACKNOWLEDGED: usize = 120;
const RECEIVED: usize = 128;
/// Room for these.
const TCP_INFO_BYTES: usize = 136;

type Owns = unsafe extern "C" fn(u64) -> bool;

/// The sum over all open connections. `None` if the provider is not loaded.
pub fn elsewhere() -> Option<Elsewhere> {
    let address = dynamic_linker::of_provider(c"fishplate_owns_socket")?;
    // SAFETY: the provider's function of this name has this type.
    let owns = unsafe { std::mem::transmute::<*mut c_void, Owns>(address) };
    let (mut sum, mut most) = (Elsewhere::default(), 0);
    for entry in fs::read_dir("/proc/self/fd").ok()?.flatten() {
        let Some(number) = number_of(&fs::read_link(entry.path()).unwrap_or_default()) else { continue };
        // SAFETY: it accepts any number.
        if unsafe { owns(number) } {
            continue;
        }
        let descriptor = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some((peer, [sent, received])) = descriptor.and_then(|fd| Some((peer(fd)?, bytes(fd)?))) else { continue };
        if sent + received >= most {
            (sum.peer, most) = (Some(peer), sent + received);
        }
        (sum.sent, sum.received) = (sum.sent + sent, sum.received + received);
    }
    Some(sum)
}

/// The inode number in a link `socket:[NUMBER]`.
fn number_of(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Bytes sent and acknowledged, and received, of a TCP connection.
fn bytes(descriptor: c_int) -> Option<[u64; 2]> {
    let mut info = [0_u8; TCP_INFO_BYTES];
    let mut len = TCP_INFO_BYTES as libc::socklen_t;
    let place = info.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `len` bytes there, and fails for other descriptors than TCP connections.
    let failed = unsafe { libc::getsockopt(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut len) } != 0;
    let number = |at: usize| info[at..].first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    if failed || (len as usize) < TCP_INFO_BYTES { None } else { Some([number(ACKNOWLEDGED)?, number(RECEIVED)?]) }
}

/// The peer's address, if it is on another host: neither a loopback address nor the local address.
fn peer(descriptor: c_int) -> Option<IpAddr> {
    let [own, peer] = ends(descriptor)?;
    (own != peer && !peer.is_loopback()).then_some(peer)
}

/// Local and peer address.
fn ends(descriptor: c_int) -> Option<[IpAddr; 2]> {
    // SAFETY: an open descriptor, which is not closed here. Whatever its type, only its addresses are queried.
    let stream = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(descriptor) });
    Some([stream.local_addr().ok()?, stream.peer_addr().ok()?].map(|end| end.ip().to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsRawFd;

    #[test]
    fn bytes_of_a_connection_are_read_and_loopbacks_are_no_other_hosts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        client.write_all(&[1; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        assert_eq!(bytes(server.as_raw_fd()), Some([0, 1000]));
        assert_eq!(ends(client.as_raw_fd()), Some([Ipv4Addr::LOCALHOST.into(); 2]));
        assert_eq!(peer(client.as_raw_fd()), None);
        let file = fs::File::open("/proc/self/exe").unwrap();
        assert_eq!((bytes(file.as_raw_fd()), peer(file.as_raw_fd())), (None, None));
    }

    #[test]
    fn numbers_are_those_of_sockets() {
        let of = |link: &str| number_of(Path::new(link));
        assert_eq!((of("socket:[4711]"), of("pipe:[4711]"), of("/dev/null")), (Some(4711), None, None));
    }
}
