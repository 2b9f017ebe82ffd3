//! Finds the MTU of a path by datagrams that must not be fragmented, each of which is answered by its number.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::SECRET_LEN;
use crate::sys::option::forbid_fragments;

/// Minimum MTU of every path: IPv4 (RFC 791, section 3.2, for hosts), IPv6 (RFC 8200, section 5).
const MIN_MTU: (u32, u32) = (576, 1280);
/// Headers of IPv4 or IPv6, and of UDP.
const HEADERS: (u32, u32) = (20 + 8, 40 + 8);
/// Time for an answer beyond the round trip: the other side is a process that has to wake up.
const SLACK: Duration = Duration::from_millis(250);
/// Lengths that are tried at the same time.
const AT_ONCE: u32 = 16;
/// Times that a length without an answer is sent: the datagram may be lost by chance, or the other side slow.
const TIMES: usize = 2;
/// [`TIMES`] for the first length, which decides whether any datagram arrives.
const FIRST_TIMES: usize = 4;
/// Greatest MTU that is reported: the longest datagram, rounded.
const MAX_MTU: u32 = 65_000;

/// Length of the longest packet that arrives, up to `mtu`, in bytes. `None`: no datagram arrives.
pub fn longest(
    socket: &UdpSocket,
    to: SocketAddr,
    secret: &[u8; SECRET_LEN],
    mtu: u32,
    round_trip: Duration,
) -> io::Result<Option<u32>> {
    socket.set_nonblocking(false)?;
    forbid_fragments(socket.as_fd(), to.is_ipv6())?;
    let of_family = |(v4, v6)| if to.is_ipv4() { v4 } else { v6 };
    let trial = Trial { socket, to, secret, headers: of_family(HEADERS), patience: SLACK + 2 * round_trip };
    let mut beyond = mtu.min(MAX_MTU);
    let mut arrives = of_family(MIN_MTU).min(beyond);
    let first = trial.which_arrive(&[arrives, beyond], FIRST_TIMES)?;
    if first.contains(&beyond) || !first.contains(&arrives) {
        return Ok(first.last().copied());
    }
    while beyond - arrives > 1 {
        let step = (beyond - arrives).div_ceil(AT_ONCE + 1);
        let lengths: Vec<u32> = (1..).map(|at| arrives + at * step).take_while(|length| *length < beyond).collect();
        let arrived = trial.which_arrive(&lengths, TIMES)?;
        arrives = arrived.last().copied().unwrap_or(arrives);
        beyond = lengths.into_iter().find(|length| *length > arrives).unwrap_or(beyond);
    }
    Ok(Some(arrives))
}

struct Trial<'a> {
    socket: &'a UdpSocket,
    to: SocketAddr,
    secret: &'a [u8; SECRET_LEN],
    headers: u32,
    patience: Duration,
}

impl Trial<'_> {
    fn which_arrive(&self, lengths: &[u32], times: usize) -> io::Result<BTreeSet<u32>> {
        let mut arrived = BTreeSet::new();
        for _ in 0..times {
            for length in lengths.iter().filter(|length| !arrived.contains(*length)).collect::<Vec<_>>() {
                let mut datagram = vec![0; (length - self.headers) as usize];
                datagram[..SECRET_LEN].copy_from_slice(self.secret);
                datagram[SECRET_LEN..SECRET_LEN + 2].copy_from_slice(&(*length as u16).to_le_bytes());
                // A datagram that the interface or a firewall refuses counts as lost.
                let _ = self.socket.send_to(&datagram, self.to);
            }
            self.collect(lengths, &mut arrived)?;
        }
        Ok(arrived)
    }

    /// Takes answers about `lengths` until all are there, or no time is left.
    fn collect(&self, lengths: &[u32], arrived: &mut BTreeSet<u32>) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        let mut answer = [0; SECRET_LEN + 2];
        while arrived.len() < lengths.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.recv_from(&mut answer) {
                Ok((length, _)) if length == answer.len() && answer.starts_with(self.secret) => {
                    let length = u16::from_le_bytes([answer[SECRET_LEN], answer[SECRET_LEN + 1]]).into();
                    // A late answer may be about a length that was given up.
                    if lengths.contains(&length) {
                        arrived.insert(length);
                    }
                }
                // From another host; or an error that a datagram was refused, which counts as lost.
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_about_a_length_that_has_been_given_up_does_not_count() {
        let [socket, peer] = [(); 2].map(|()| UdpSocket::bind(("127.0.0.1", 0)).unwrap());
        let (secret, to) = ([7; SECRET_LEN], peer.local_addr().unwrap());
        let answer = |length: u16| {
            let datagram = [&secret[..], &length.to_le_bytes()].concat();
            peer.send_to(&datagram, socket.local_addr().unwrap()).unwrap();
        };
        [1400, 700].into_iter().for_each(answer);
        let patience = Duration::from_millis(50);
        let trial = Trial { socket: &socket, to, secret: &secret, headers: HEADERS.0, patience };
        assert_eq!(trial.which_arrive(&[600, 700], 1).unwrap(), BTreeSet::from([700]));
    }
}
