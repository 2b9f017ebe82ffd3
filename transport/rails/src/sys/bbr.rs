//! BBR's state of a connection.

use std::os::fd::BorrowedFd;

use super::option::tcp_option;

/// Words of `struct tcp_bbr_info` (linux/inet_diag.h): the bandwidth in two, the minimal round trip, two gains.
const WORDS: usize = 5;
const LOW_BANDWIDTH: usize = 0;
const HIGH_BANDWIDTH: usize = 1;
const PACING_GAIN: usize = 3;
/// Greatest pacing gain other than Startup's 2.9, in units of 1/256.
const MAX_GAIN_AFTER_STARTUP: u32 = 2 * 256;

/// The estimates of Linux's BBR for one TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bbr {
    /// Its bandwidth estimate, in bytes per second.
    pub bandwidth: u64,
    pub is_startup: bool,
}

/// Queries the kernel; `None` where the connection does not use Linux's own BBR.
pub fn bbr(socket: BorrowedFd<'_>) -> Option<Bbr> {
    // One word more, to recognize algorithms with longer data.
    let mut words = [0u32; WORDS + 1];
    // SAFETY: they are numbers.
    let len = unsafe { tcp_option(socket, libc::TCP_CC_INFO, &mut words) }.ok()?;
    (len == WORDS * size_of::<u32>()).then(|| Bbr {
        bandwidth: u64::from(words[HIGH_BANDWIDTH]) << 32 | u64::from(words[LOW_BANDWIDTH]),
        is_startup: words[PACING_GAIN] > MAX_GAIN_AFTER_STARTUP,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    #[test]
    fn only_bbr_reports_a_rate() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = socket2::SockRef::from(&client);
        socket.set_tcp_congestion(b"reno").unwrap();
        assert_eq!(bbr(client.as_fd()), None);
        if socket.set_tcp_congestion(b"bbr").is_ok() {
            // It sets its gains with the first acknowledgement.
            client.write_all(&[1; 1000]).unwrap();
            listener.accept().unwrap().0.read_exact(&mut [0; 1000]).unwrap();
            let begin = Instant::now();
            let mut knows = bbr(client.as_fd()).unwrap();
            while !knows.is_startup {
                assert!(begin.elapsed() < Duration::from_secs(10), "{knows:?}");
                knows = bbr(client.as_fd()).unwrap();
            }
        }
    }
}
