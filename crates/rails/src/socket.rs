//! Sockets of rails: how they are made and set.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::sys::option::set_max_rto;

/// Bytes that the kernel holds unsent before a socket counts as full: enough to keep a wire busy while the process
/// does something else for a moment, little enough that a slow rail binds little (late binding).
const LEAST_UNSENT: u64 = 128 << 10;
/// The same for far peers, at most.
const MOST_UNSENT: u64 = 1 << 20;
/// What counts as little: this part of what a round trip holds. A far path must not run dry either: BBR would take that
/// for the path's rate.
const UNSENT_PART: f64 = 0.25;
/// After so long without traffic the kernel asks whether the peer is still there: so an end that does not know that the
/// other has given the connection up learns of it soon after the path has healed.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(1);
/// So often without an answer, and the connection has failed.
const KEEPALIVE_PROBES: u32 = 3;
/// What is lost is sent again at least so often: so a path that heals carries soon.
const MAX_RTO: Duration = Duration::from_secs(1);
/// Bytes of a short segment, options included: it fits the least MTU of IPv6 (RFC 8200, section 5).
pub const SHORT_SEGMENT: u32 = 1280 - 60;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// How often listeners look for a port that is free for both families.
const PORT_TRIES: usize = 32;

/// A socket that peers connect to.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// It takes what comes over this rail, whichever address is meant: position in the list. `None`: what comes over any
    /// other interface.
    pub rail: Option<u8>,
}

/// Listens on one port: on every interface of `devices` (`None`: a rail without one), and for what comes over others.
/// `congestion`: see [`connect`]; accepted connections inherit it.
///
/// An accepted connection stays on its interface in both directions, with the answer that sets it up: without that, two rails
/// in one network would be one, as routes lead to it over the first. Old kernels let only root bind sockets to interfaces;
/// then routes decide, and the address tells the rail.
pub fn listen(devices: &[Option<&str>], congestion: &str) -> io::Result<(Vec<Listener>, u16)> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for _ in 0..PORT_TRIES {
        match listen_once(devices, congestion) {
            Ok(listening) => return Ok(listening),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn listen_once(devices: &[Option<&str>], congestion: &str) -> io::Result<(Vec<Listener>, u16)> {
    let all = [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
    // The one that is not bound to an interface comes first: no other process has a port that it gets, on any interface.
    let (mut port, mut listeners) = (0, Vec::new());
    for ip in all {
        match listen_at(ip, port, None, congestion) {
            Ok(socket) => {
                port = socket.local_addr()?.port();
                listeners.push(Listener { socket, rail: None });
            }
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(error),
        }
    }
    for (rail, device) in devices.iter().enumerate().filter_map(|(rail, device)| Some((rail as u8, (*device)?))) {
        for ip in all {
            match listen_at(ip, port, Some(device), congestion) {
                Ok(socket) => listeners.push(Listener { socket, rail: Some(rail) }),
                Err(error) if is_unsupported(&error) || error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
    }
    if listeners.is_empty() { Err(io::ErrorKind::Unsupported.into()) } else { Ok((listeners, port)) }
}

fn listen_at(ip: IpAddr, port: u16, device: Option<&str>, congestion: &str) -> io::Result<TcpListener> {
    let socket = new_socket(ip, congestion)?;
    // For the sockets of this endpoint: of several that would take a connection, the one bound to its interface does.
    socket.set_reuse_port(true)?;
    if let Some(device) = device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.bind(&SocketAddr::new(ip, port).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Whether the kernel has no such family of addresses, or has it switched off.
fn is_unsupported(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAFNOSUPPORT) || error.kind() == io::ErrorKind::AddrNotAvailable
}

/// Whether this process may bind sockets to an interface: [`io::ErrorKind::PermissionDenied`] on Linux before 5.7.
pub fn may_bind_to(device: &str) -> io::Result<()> {
    unconnected(Ipv4Addr::UNSPECIFIED.into())?.bind_device(Some(device.as_bytes()))
}

/// Starts to connect from `local` to `remote`; the socket becomes writable when that has succeeded or failed.
/// `device` is set where the peer is not on this node, so that two rails in one network stay two; `congestion` is the
/// congestion control that it starts with. With `short` segments neither side sends longer ones than [`SHORT_SEGMENT`].
pub fn connect(
    local: SocketAddr,
    device: Option<&str>,
    remote: SocketAddr,
    congestion: &str,
    short: bool,
) -> io::Result<TcpStream> {
    let socket = new_socket(local.ip(), congestion)?;
    if short {
        socket.set_tcp_mss(SHORT_SEGMENT)?;
    }
    bind(&socket, local, device)?;
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
pub fn tune(stream: &TcpStream) -> io::Result<bool> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(LEAST_UNSENT as u32)?;
    let asked =
        TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_AFTER).with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&asked)?;
    Ok(set_max_rto(stream.as_fd(), MAX_RTO).is_ok())
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

fn new_socket(ip: IpAddr, congestion: &str) -> io::Result<Socket> {
    let socket = unconnected(ip)?;
    // A name that the user set has been checked; without the other, which every kernel has, it would just be slower.
    let _ = socket.set_tcp_congestion(congestion.as_bytes());
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
