//! Sockets of rails: how they are made and set.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::keepalive::KEEPALIVE_AFTER;
use crate::ports::Ports;
use crate::sys::option::set_max_rto;

/// Bytes that the kernel holds unsent before a socket counts as full: enough to keep a wire busy while the process
/// does something else for a moment, little enough that a slow rail binds little (late binding).
const LEAST_UNSENT: u64 = 128 << 10;
/// The same for far peers, at most.
pub const MOST_UNSENT: u64 = 1 << 20;
/// What counts as little: this part of what a round trip holds. A far path must not run dry either: BBR would take that
/// for the path's rate.
const UNSENT_PART: f64 = 0.25;
/// So often without an answer, and the connection has failed.
const KEEPALIVE_PROBES: u32 = 3;
/// So it has when what was sent is not answered for as long, in nanoseconds.
pub const SILENT_FOR_NS: u64 = KEEPALIVE_AFTER.as_nanos() as u64 * KEEPALIVE_PROBES as u64;
/// Bytes of a short segment, options included: it fits the least MTU of IPv6 (RFC 8200, section 5).
pub const SHORT_SEGMENT: u32 = 1280 - 60;

/// Whether this process may bind sockets to an interface: [`io::ErrorKind::PermissionDenied`] on Linux before 5.7.
pub fn may_bind_to(device: &str) -> io::Result<()> {
    unconnected(Ipv4Addr::UNSPECIFIED.into())?.bind_device(Some(device.as_bytes()))
}

/// Starts to connect from `local`, or another port if that is taken, to `remote`; the socket becomes writable when that has succeeded or failed.
/// `device` is set where the peer is not on this node, so that two rails in one network stay two; `congestion` is the
/// congestion control that it starts with. With `short` segments neither side sends longer ones than [`SHORT_SEGMENT`].
pub fn connect(
    local: SocketAddr,
    device: Option<&str>,
    remote: SocketAddr,
    congestion: &str,
    short: bool,
) -> io::Result<TcpStream> {
    let socket = stream(local.ip(), congestion)?;
    if short {
        socket.set_tcp_mss(SHORT_SEGMENT)?;
    }
    match bind(&socket, local, device) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && local.port() != 0 => {
            let mut any = local;
            any.set_port(0);
            socket.bind(&any.into())?;
        }
        bound => bound?,
    }
    match socket.connect(&remote.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}

/// A socket for datagrams from `local`, over `device` if there is one.
pub fn datagrams(local: SocketAddr, device: Option<&str>) -> io::Result<UdpSocket> {
    let socket = new_of(local.ip(), Type::DGRAM)?;
    bind(&socket, local, device)?;
    Ok(socket.into())
}

/// The same on a port that peers can reach: one of `ports`, looked for from that of `local` on, if there are any.
pub fn datagrams_on(mut local: SocketAddr, device: Option<&str>, ports: Option<Ports>) -> io::Result<UdpSocket> {
    let Some(ports) = ports else {
        local.set_port(0);
        return datagrams(local, device);
    };
    for port in ports.beginning_with(local.port()) {
        local.set_port(port);
        match datagrams(local, device) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            opened => return opened,
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// A socket that leaves from `local`, over `device` if there is one.
pub fn bound(local: SocketAddr, device: Option<&str>) -> io::Result<Socket> {
    let socket = unconnected(local.ip())?;
    bind(&socket, local, device)?;
    Ok(socket)
}

fn bind(socket: &Socket, local: SocketAddr, device: Option<&str>) -> io::Result<()> {
    if let Some(device) = device {
        // Old kernels let only root do this; without it the routing table decides.
        let _ = socket.bind_device(Some(device.as_bytes()));
    }
    socket.bind(&local.into())
}

/// Sets a connection up as a rail's.
///
/// No `TCP_USER_TIMEOUT`: it would also end a connection whose peer computes for so long and does not read. Whoever
/// waits for an acknowledgement sees that none comes; where nobody waits, the kernel asks whether the peer is there.
///
/// True: the kernel repeats often what is not answered. (Old ones do so ever more rarely.)
pub fn tune(stream: &TcpStream, keepalive: Duration) -> io::Result<bool> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(LEAST_UNSENT as u32)?;
    ask_every(stream, keepalive)?;
    // What is lost is sent again as often: so a path that heals carries soon.
    Ok(set_max_rto(stream.as_fd(), KEEPALIVE_AFTER).is_ok())
}

/// Has the kernel ask the peer's, after so long without traffic, whether it is still there.
pub fn ask_every(stream: &TcpStream, keepalive: Duration) -> io::Result<()> {
    let asked = TcpKeepalive::new().with_time(keepalive).with_interval(keepalive).with_retries(KEEPALIVE_PROBES);
    SockRef::from(stream).set_tcp_keepalive(&asked)
}

/// Has the closing of a connection tell the peer at once, and drop what was not sent.
pub fn abort_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Has the kernel hold as much unsent as fits a path that takes `bytes` in a round trip.
pub fn set_unsent_limit(stream: &TcpStream, bytes: f64) -> io::Result<()> {
    let unsent = ((bytes * UNSENT_PART) as u64).clamp(LEAST_UNSENT, MOST_UNSENT);
    SockRef::from(stream).set_tcp_notsent_lowat(unsent as u32)
}

/// A socket that is not connected, to ask the system what there is.
pub fn unconnected(ip: IpAddr) -> io::Result<Socket> {
    new_of(ip, Type::STREAM)
}

fn new_of(ip: IpAddr, kind: Type) -> io::Result<Socket> {
    let domain = if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    Socket::new(domain, kind.nonblocking().cloexec(), None)
}

/// Whether this process may have the congestion control of that name.
pub fn may_use_congestion(name: &str) -> bool {
    let socket = unconnected(Ipv4Addr::LOCALHOST.into()).or_else(|_| unconnected(Ipv6Addr::LOCALHOST.into()));
    socket.is_ok_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_ok())
}

/// A socket for a connection with that congestion control.
pub fn stream(ip: IpAddr, congestion: &str) -> io::Result<Socket> {
    let socket = unconnected(ip)?;
    // A name that the user set has been checked; without the other, which every kernel has, it would just be slower.
    let _ = socket.set_tcp_congestion(congestion.as_bytes());
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
