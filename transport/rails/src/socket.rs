//! Sockets of rails, and their options.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::keepalive::KEEPALIVE_AFTER;
use crate::ports::Ports;
use crate::sys::option::set_max_rto;

/// Unsent bytes in the kernel (`TCP_NOTSENT_LOWAT`) from which on a socket counts as full: enough to keep a wire busy while the
/// process does something else for a moment, little enough that a slow rail binds little (late binding).
const MIN_UNSENT: u64 = 128 << 10;
/// [`MIN_UNSENT`] for distant peers, at most.
pub const MAX_UNSENT: u64 = 1 << 20;
/// The limit is this part of the bandwidth-delay product. A distant path must not run idle: BBR would take that for the path's
/// rate.
const UNSENT_PART: f64 = 0.25;
/// Keep-alive probes without an answer after which the connection has failed.
const KEEPALIVE_PROBES: u32 = 3;
/// Time without an acknowledgement of sent data, in nanoseconds, after which it has failed too.
pub const SILENT_FOR_NS: u64 = KEEPALIVE_AFTER.as_nanos() as u64 * KEEPALIVE_PROBES as u64;
/// Length of a short segment, options included, in bytes: it fits the minimum MTU of IPv6 (RFC 8200, section 5).
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

/// A socket for datagrams on a port that peers can reach: one of `ports`, if there are any, tried from that of `local` on.
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

/// Sets the options of a rail's connection.
///
/// No `TCP_USER_TIMEOUT`: it would also end a connection whose peer computes for as long and does not read. Where an acknowledgement
/// is awaited, its absence is noticed; otherwise the kernel sends keep-alive probes.
///
/// True: the kernel's retransmission timeout is bounded. (On old kernels it grows up to two minutes.)
pub fn tune(stream: &TcpStream, keepalive: Duration) -> io::Result<bool> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(MIN_UNSENT as u32)?;
    ask_every(stream, keepalive)?;
    // A path that heals carries soon again.
    Ok(set_max_rto(stream.as_fd(), KEEPALIVE_AFTER).is_ok())
}

/// Sets the keep-alive interval.
pub fn ask_every(stream: &TcpStream, keepalive: Duration) -> io::Result<()> {
    let asked = TcpKeepalive::new().with_time(keepalive).with_interval(keepalive).with_retries(KEEPALIVE_PROBES);
    SockRef::from(stream).set_tcp_keepalive(&asked)
}

/// Has the closing of a connection reset it, and drop unsent bytes.
pub fn abort_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Sets the limit of unsent bytes for a path with this bandwidth-delay product.
pub fn set_unsent_limit(stream: &TcpStream, bytes: f64) -> io::Result<()> {
    let unsent = ((bytes * UNSENT_PART) as u64).clamp(MIN_UNSENT, MAX_UNSENT);
    SockRef::from(stream).set_tcp_notsent_lowat(unsent as u32)
}

/// A socket that is not connected, for queries.
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
    // A name that the user set has been checked; the other is in every kernel, and without it the connection would just be slower.
    let _ = socket.set_tcp_congestion(congestion.as_bytes());
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
