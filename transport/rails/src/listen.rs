//! The sockets that peers connect to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use socket2::SockRef;

use crate::ports::Ports;
use crate::process;
use crate::socket::stream;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Tries to find a port that is free for both address families.
const PORT_TRIES: usize = 32;

/// A socket that peers connect to.
#[derive(Debug)]
pub struct Listener {
    pub socket: TcpListener,
    /// Position of its rail: it takes connections over the rail's interface, to any address. `None`: it takes connections over all
    /// other interfaces.
    pub rail: Option<u8>,
}

/// Interface and addresses that a rail listens at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// Its interface; `None`: a rail without one.
    pub device: Option<&'a str>,
    /// Its addresses; empty: all that come over the interface.
    pub addresses: Vec<IpAddr>,
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// No port of the user's range is free.
    #[error("{}", all_taken(*.0))]
    AllTaken(Ports),
    /// An error of the kernel.
    #[error("the rails cannot be listened on: {0}")]
    System(#[from] io::Error),
}

fn all_taken(ports: Ports) -> String {
    let needs = match process::local_ranks() {
        Some(ranks) => format!("this job needs {ranks} there, one for each of its ranks on that host"),
        None => "a job needs one for each of its ranks on a host".to_string(),
    };
    format!(
        "FISHPLATE_PORTS={ports}: no port of {} is free on {}; {needs}: widen the range, or end the programs that use \
         them (`ss -ltnp` lists these)",
        ports.count(),
        process::host()
    )
}

/// Listens on one port, of `ports` if there are any: at every place of a rail with an interface, and for connections over other
/// interfaces. `congestion`: see [`crate::socket::connect`]; accepted connections inherit it.
///
/// An accepted connection stays on its interface in both directions, with the answer that sets it up: without that, two rails
/// in one network would be one, as routes lead to it over the first. Old kernels let only root bind sockets to interfaces;
/// then routes decide, and the address identifies the rail.
pub fn listen(
    places: &[Place<'_>],
    congestion: &str,
    ports: Option<Ports>,
) -> Result<(Vec<Listener>, u16), ListenError> {
    let candidates: Vec<u16> = ports.map_or(vec![0; PORT_TRIES], |ports| ports.range().collect());
    for port in candidates {
        match listen_on(port, places, congestion) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            listening => return Ok(listening?),
        }
    }
    Err(ports.map_or(io::Error::from(io::ErrorKind::AddrInUse).into(), ListenError::AllTaken))
}

/// On `port`; 0: one that is free.
fn listen_on(port: u16, places: &[Place<'_>], congestion: &str) -> io::Result<(Vec<Listener>, u16)> {
    let all = [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
    // Sockets without an interface come first: no other process has their port, on any interface.
    let (mut chosen, mut listeners) = (port, Vec::new());
    for ip in all {
        match listen_at(ip, chosen, None, congestion) {
            Ok(socket) => {
                chosen = socket.local_addr()?.port();
                listeners.push(Listener { socket, rail: None });
            }
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(error),
        }
    }
    // Port sharing is allowed only now: before, another process of this user could have got the port too.
    for listener in &listeners {
        SockRef::from(&listener.socket).set_reuse_port(true)?;
    }
    for (rail, place) in places.iter().enumerate().filter(|(_, place)| place.device.is_some()) {
        // The kernel prefers a listener with the address, so that a path gets the connections to its addresses.
        let ips = if place.addresses.is_empty() { &all[..] } else { &place.addresses };
        for ip in ips {
            match listen_at(*ip, chosen, place.device, congestion) {
                Ok(socket) => listeners.push(Listener { socket, rail: Some(rail as u8) }),
                Err(error) if is_unsupported(&error) || error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
    }
    if listeners.is_empty() { Err(io::ErrorKind::Unsupported.into()) } else { Ok((listeners, chosen)) }
}

fn listen_at(ip: IpAddr, port: u16, device: Option<&str>, congestion: &str) -> io::Result<TcpListener> {
    let socket = stream(ip, congestion)?;
    // Otherwise connections of an ended process would block the port for a minute (TIME_WAIT).
    socket.set_reuse_address(port != 0)?;
    if let Some(device) = device {
        // For the sockets of this endpoint. The kernel prefers the one that is bound to the interface of a connection.
        socket.set_reuse_port(true)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    /// Two ports in a row that were free a moment ago, below those that the kernel gives out.
    fn two_ports(first: u16) -> Ports {
        let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
        let first = (first..first + 500).step_by(2).find(|port| is_free(port) && is_free(&(port + 1))).unwrap();
        format!("{first}-{}", first + 1).parse().unwrap()
    }

    fn on_loopback() -> Place<'static> {
        Place { device: Some("lo"), addresses: Vec::new() }
    }

    #[test]
    fn connections_to_a_path_are_accepted_by_its_listener() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let path = |own: &str| Place { device: Some("lo"), addresses: vec![ip(own)] };
        let (listeners, port) = listen(&[path("127.0.0.2"), path("127.0.0.3"), on_loopback()], "reno", None).unwrap();
        for (at, rail) in [("127.0.0.2", 0), ("127.0.0.3", 1), ("127.0.0.4", 2)] {
            let _client = TcpStream::connect((at, port)).unwrap();
            for listener in &listeners {
                listener.socket.set_nonblocking(true).unwrap();
                assert_eq!(listener.socket.accept().is_ok(), listener.is_of(rail, ip(at)), "{at}: {listener:?}");
            }
        }
    }

    impl Listener {
        fn is_of(&self, rail: u8, ip: IpAddr) -> bool {
            self.rail == Some(rail) && self.socket.local_addr().unwrap().is_ipv4() == ip.is_ipv4()
        }
    }

    #[test]
    fn several_take_different_ports_of_the_range_until_there_are_no_more() {
        let ports = two_ports(21_000);
        let places = [Place::default(), on_loopback()];
        let (first, a) = listen(&places, "reno", Some(ports)).unwrap();
        let (second, b) = listen(&places, "reno", Some(ports)).unwrap();
        assert_eq!([a, b], [*ports.range().start(), *ports.range().end()]);
        let error = listen(&places, "reno", Some(ports)).unwrap_err().to_string();
        let range = format!("FISHPLATE_PORTS={ports}: no port of 2 is free");
        for part in [range.as_str(), "needs one for each of its ranks", "widen the range"] {
            assert!(error.contains(part), "{error}");
        }
        drop((first, second));
    }

    #[test]
    fn those_that_look_at_the_same_time_do_not_share_one() {
        let first = *two_ports(23_000).range().start();
        let ports: Ports = format!("{first}-{}", first + 200).parse().unwrap();
        let start = std::sync::Barrier::new(8);
        let listen = || {
            start.wait();
            listen(&[on_loopback()], "reno", Some(ports)).unwrap()
        };
        let listening: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(listen)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let taken: std::collections::BTreeSet<u16> = listening.iter().map(|(_, port)| *port).collect();
        assert_eq!(taken.len(), 8);
    }

    #[test]
    fn a_port_is_free_again_at_once_when_its_process_ends() {
        let ports = two_ports(22_000);
        let (listeners, port) = listen(&[on_loopback()], "reno", Some(ports)).unwrap();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let on_lo = listeners.iter().find(|one| one.rail.is_some() && one.socket.local_addr().unwrap().is_ipv4());
        let (accepted, _) = on_lo.unwrap().socket.accept().unwrap();
        // Its side closes first, and so has to be remembered.
        drop((accepted, listeners, client));
        assert_eq!(listen(&[on_loopback()], "reno", Some(ports)).unwrap().1, port);
    }

    #[test]
    fn without_a_range_any_port_does() {
        let (_held, a) = listen(&[on_loopback()], "reno", None).unwrap();
        let (_also, b) = listen(&[on_loopback()], "reno", None).unwrap();
        assert!(a != 0 && b != 0 && a != b);
    }
}
