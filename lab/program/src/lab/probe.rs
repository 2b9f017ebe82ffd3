//! Round trips of plain datagrams, measured between two processes.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// Port in the hosts of a lab, used by no other program.
const PORT: u16 = 5078;
/// Between round trips, so that the link is idle for each.
const PAUSE: Duration = Duration::from_micros(500);
/// Round trips that are left out: addresses are asked for, processors wake up.
const WARM_UP: usize = 5;
/// Round trips that are enough for a 99th percentile.
const MAX_ROUND_TRIPS: usize = 500;
/// When a datagram counts as lost; also how long the other side may take to begin. Twice the longest way that is likely.
const PATIENCE: Duration = Duration::from_secs(2);

/// Round trips in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    pub mean_us: f64,
    pub p99_us: f64,
}

/// Sends back what comes, for as long as this process lives.
pub fn reflect(address: IpAddr) -> Result<()> {
    let socket = UdpSocket::bind(SocketAddr::new(address, PORT)).context("cannot listen")?;
    let mut packet = [0; 64];
    loop {
        let (length, from) = socket.recv_from(&mut packet).context("cannot receive")?;
        // A datagram that cannot be sent counts as lost.
        let _ = socket.send_to(&packet[..length], from);
    }
}

/// Measures for this time, one datagram after the other.
pub fn round_trips(address: IpAddr, time: Duration) -> Result<RoundTrips> {
    let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).context("cannot open a socket")?;
    socket.connect(SocketAddr::new(address, PORT)).with_context(|| format!("no way to {address}"))?;
    let limit = Instant::now() + PATIENCE + time;
    for number in 0..WARM_UP as u32 {
        while exchange(&socket, number)?.is_none() {
            ensure!(Instant::now() < limit, "{address} does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let mut times_us = Vec::new();
    let start = Instant::now();
    for number in WARM_UP as u32.. {
        times_us.extend(exchange(&socket, number)?);
        if times_us.len() >= MAX_ROUND_TRIPS || start.elapsed() >= time {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    ensure!(!times_us.is_empty(), "{address} does not answer");
    times_us.sort_by(f64::total_cmp);
    let mean_us = times_us.iter().sum::<f64>() / times_us.len() as f64;
    Ok(RoundTrips { mean_us, p99_us: times_us[times_us.len() * 99 / 100] })
}

/// One round trip in microseconds; `None` if the datagram was lost.
fn exchange(socket: &UdpSocket, number: u32) -> Result<Option<f64>> {
    let start = Instant::now();
    if let Err(error) = socket.send(&number.to_be_bytes()) {
        // The answer says that no process listens yet.
        return if error.kind() == ErrorKind::ConnectionRefused { Ok(None) } else { Err(error).context("cannot send") };
    }
    let mut answer = [0; 4];
    loop {
        let left = PATIENCE.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left)).context("cannot set a time limit")?;
        match socket.recv(&mut answer) {
            Ok(_) if answer == number.to_be_bytes() => return Ok(Some(start.elapsed().as_secs_f64() * 1e6)),
            // The answer to an earlier request, which had timed out.
            Ok(_) => {}
            // This process was stopped for a while, which ends a call that has a time limit.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(error).context("cannot receive"),
        }
    }
}
