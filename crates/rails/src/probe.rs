//! How long a round trip to a host takes over a rail, without a program there: its kernel answers whoever wants to connect,
//! mostly that nobody listens.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use crate::socket;

/// Port that is asked for: *discard*, where hardly anybody listens, and who does expects nothing.
const PORT: u16 = 9;
/// How often it is asked for. The least time counts: what is longer is chance.
const TIMES: usize = 5;
/// How long to wait for an answer: longer than around the world.
const PATIENCE: Duration = Duration::from_secs(1);

/// The least of a few round trips from `local` to `remote`; `device` is that of the rail if `remote` is another host. `None`:
/// no answer came.
pub fn round_trip(local: IpAddr, device: Option<&str>, remote: IpAddr) -> io::Result<Option<Duration>> {
    let mut least = None;
    for _ in 0..TIMES {
        let socket = socket::bound(local, device)?;
        let start = Instant::now();
        let answer = socket.connect_timeout(&SocketAddr::new(remote, PORT).into(), PATIENCE);
        let took = start.elapsed();
        match answer {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(least),
            Err(error) => return Err(error),
        }
        least = Some(least.map_or(took, |least: Duration| least.min(took)));
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_answers_and_what_leads_nowhere_is_an_error() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let took = round_trip(ip("127.0.0.1"), None, ip("127.0.0.1")).unwrap().unwrap();
        assert!(took > Duration::ZERO && took < PATIENCE, "{took:?}");
        assert!(round_trip(ip("203.0.113.1"), None, ip("127.0.0.1")).is_err(), "that is nobody's address here");
    }
}
