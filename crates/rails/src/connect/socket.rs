//! Sockets of rails: how they are made and set.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

/// Bytes that the kernel holds unsent before a socket counts as full: enough to keep a wire busy while the process
/// does something else for a moment, little enough that a slow rail binds little (late binding).
const UNSENT_LOW_WATER: u32 = 128 << 10;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// How often listeners look for a port that is free on all rails.
const PORT_TRIES: usize = 32;

/// Listens on all `rails`, on one port.
pub fn listen(rails: &[IpAddr]) -> io::Result<(Vec<TcpListener>, u16)> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for _ in 0..PORT_TRIES {
        match listen_once(rails) {
            Ok(listening) => return Ok(listening),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn listen_once(rails: &[IpAddr]) -> io::Result<(Vec<TcpListener>, u16)> {
    let mut port = 0;
    let mut listeners = Vec::new();
    for ip in rails {
        let socket = new_socket(*ip)?;
        socket.bind(&SocketAddr::new(*ip, port).into())?;
        socket.listen(BACKLOG)?;
        let listener: TcpListener = socket.into();
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok((listeners, port))
}

/// Starts to connect from `local` to `remote`; the socket becomes writable when that has succeeded or failed.
/// `device` is set where the peer is not on this node, so that two rails in one network stay two.
pub fn connect(local: IpAddr, device: Option<&str>, remote: SocketAddr) -> io::Result<TcpStream> {
    let socket = new_socket(local)?;
    if let Some(device) = device {
        bind_to_device(&socket, device);
    }
    socket.bind(&SocketAddr::new(local, 0).into())?;
    match socket.connect(&remote.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}

/// Sets a connection up as a rail's. `timeout`: how long sent bytes may stay unacknowledged.
pub fn tune(stream: &TcpStream, congestion: Option<&str>, timeout: Duration) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(UNSENT_LOW_WATER)?;
    socket.set_tcp_user_timeout(Some(timeout))?;
    if let Some(name) = congestion {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    Ok(())
}

/// Keeps the answers of an accepted connection on the interface that it came over.
pub fn keep_on_device(stream: &TcpStream, device: &str) {
    bind_to_device(&SockRef::from(stream), device);
}

/// Old kernels let only root do this; without it the routing table decides.
fn bind_to_device(socket: &Socket, device: &str) {
    let _ = socket.bind_device(Some(device.as_bytes()));
}

fn new_socket(ip: IpAddr) -> io::Result<Socket> {
    let domain = if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), None)?;
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
