//! The side that is tried: answers peers that know its secret, as long as the process lives.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fishplate_link_core::random;

use super::{ECHO, LONG, LONG_BYTES, OTHER_RAIL, Offer, OfferedRail, PATIENCE, SECRET_LEN};
use crate::discover::Class;
use crate::listen::{Place, listen};
use crate::ports::Ports;
use crate::rail::Rail;
use crate::socket;

/// Connections that are answered at the same time; further ones are closed. Enough for 32 hosts that try four rails each.
const MAX_CONNECTIONS: usize = 128;
/// Timeout of a connection without data: its peer may wait for other ways first.
const MAX_SILENCE: Duration = PATIENCE.saturating_mul(5);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest datagram.
const MAX_BYTES: usize = 1 << 16;

/// Begins to answer on `rails`, on `ports` if there are any.
///
/// # Errors
/// The reason why an endpoint could not listen either.
pub fn begin(rails: &[Rail], ports: Option<Ports>) -> Result<Offer, String> {
    let secret = random().map_err(|error| format!("the kernel gives no random numbers: {error}"))?;
    let places: Vec<Place> = rails.iter().map(Rail::place).collect();
    let (listeners, port) = listen(&places, "reno", ports).map_err(|error| error.to_string())?;
    let busy = Arc::new(AtomicUsize::new(0));
    for listener in listeners {
        listener.socket.set_nonblocking(false).map_err(|error| format!("a socket cannot wait: {error}"))?;
        let busy = busy.clone();
        thread::spawn(move || accept(&listener.socket, listener.rail.unwrap_or(OTHER_RAIL), &secret, &busy));
    }
    let offered = |rail: &Rail| OfferedRail {
        name: rail.name.clone(),
        is_in_reserve: rail.class != Class::Rail,
        addresses: rail.addresses.iter().map(|own| (own.ip, reflect(rail, own.ip, port, ports, secret).ok())).collect(),
    };
    Ok(Offer { rails: rails.iter().map(offered).collect(), port, secret })
}

fn accept(listener: &TcpListener, rail: u8, secret: &[u8; SECRET_LEN], busy: &Arc<AtomicUsize>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Too many files are open, or the connection has gone.
            thread::sleep(PAUSE);
            continue;
        };
        if busy.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            busy.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (secret, busy) = (*secret, busy.clone());
        thread::spawn(move || {
            // The trying side reports the failure.
            let _ = answer(stream, rail, &secret);
            busy.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn answer(mut stream: TcpStream, rail: u8, secret: &[u8; SECRET_LEN]) -> io::Result<()> {
    stream.set_read_timeout(Some(MAX_SILENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut given = [0; SECRET_LEN];
    stream.read_exact(&mut given)?;
    if given != *secret {
        return Ok(());
    }
    stream.write_all(&[rail])?;
    let mut asked = [0];
    while stream.read(&mut asked)? == 1 {
        match asked[0] {
            ECHO => {}
            LONG => stream.read_exact(&mut vec![0; LONG_BYTES])?,
            _ => return Ok(()),
        }
        stream.write_all(&asked)?;
    }
    Ok(())
}

/// Begins to answer datagrams to an address. Returns the port.
fn reflect(rail: &Rail, ip: IpAddr, near: u16, ports: Option<Ports>, secret: [u8; SECRET_LEN]) -> io::Result<u16> {
    let socket = socket::datagrams_on(rail.at(ip, near), rail.device(), ports)?;
    socket.set_nonblocking(false)?;
    let port = socket.local_addr()?.port();
    thread::spawn(move || answer_datagrams(&socket, &secret));
    Ok(port)
}

fn answer_datagrams(socket: &UdpSocket, secret: &[u8; SECRET_LEN]) {
    let mut datagram = vec![0; MAX_BYTES];
    loop {
        // An error is about an earlier answer to a peer that has gone.
        let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
        let head = &datagram[..length.min(SECRET_LEN + 2)];
        if head.len() == SECRET_LEN + 2 && head.starts_with(secret) {
            let _ = socket.send_to(head, from);
        }
    }
}
