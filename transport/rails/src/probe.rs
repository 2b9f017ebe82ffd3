//! Measures the round trip to a host over a rail without a program there: its kernel answers a SYN, mostly with a refusal.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::rail::Rail;
use crate::socket;

/// Port of the SYN: *discard*, where hardly any process listens.
const PORT: u16 = 9;
/// Number of tries, of which the minimum counts.
const TIMES: usize = 5;
/// How long to wait for an answer: longer than around the world.
const PATIENCE: Duration = Duration::from_secs(1);

/// The minimum of a few round trips over `rail` to `remote`. `is_here`: that is an address of this host. `None`: no answer came.
pub fn round_trip(rail: &Rail, remote: IpAddr, is_here: bool) -> io::Result<Option<Duration>> {
    let source = rail.source_for(remote).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let device = rail.device().filter(|_| !is_here);
    let mut least = None;
    for _ in 0..TIMES {
        let socket = socket::bound(rail.at(source, 0), device)?;
        let start = Instant::now();
        let answer = socket.connect_timeout(&rail.at(remote, PORT).into(), PATIENCE);
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
    use crate::rail::tests::rail;

    #[test]
    fn loopback_answers_and_what_leads_nowhere_is_an_error() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let rail = |own: &str| rail("lo", 1, &[own]);
        let took = round_trip(&rail("127.0.0.1/8"), ip("127.0.0.1"), true).unwrap().unwrap();
        assert!(took > Duration::ZERO && took < PATIENCE, "{took:?}");
        assert!(round_trip(&rail("203.0.113.1/8"), ip("127.0.0.1"), true).is_err(), "that is nobody's address here");
    }
}
