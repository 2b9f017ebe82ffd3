//! What BBR knows of a connection.

use std::os::fd::BorrowedFd;

use super::option::tcp_option;

/// Words of `struct tcp_bbr_info` (linux/inet_diag.h): the bandwidth in two, the least round trip, two gains.
const WORDS: usize = 5;
const LOW_BANDWIDTH: usize = 0;
const HIGH_BANDWIDTH: usize = 1;
const LEAST_ROUND_TRIP: usize = 2;
const PACING_GAIN: usize = 3;
const WINDOW_GAIN: usize = 4;
/// No gain of the pace is greater but the one in the start, 2.9, in units of 1/256.
const GREATEST_LATER: u32 = 2 * 256;
/// The gain of the window while it looks at the least round trip: 1, in units of 1/256.
const LOOKING: u32 = 256;

/// What BBR knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bbr {
    /// The most that arrived of late, in bytes per second.
    pub bandwidth: u64,
    /// The least round trip of late, in microseconds.
    pub least_us: u32,
    /// It looks for the path's rate for the first time.
    pub is_starting: bool,
    /// It lets the path run empty in order to measure that.
    pub is_looking: bool,
}

impl Bbr {
    /// The least round trip of late, in nanoseconds.
    pub fn least_ns(&self) -> u64 {
        u64::from(self.least_us) * 1000
    }
}

/// Asks the kernel; `None` where the connection does not use the BBR that Linux comes with.
pub fn bbr(socket: BorrowedFd<'_>) -> Option<Bbr> {
    // One more, as another algorithm may tell more.
    let mut words = [0u32; WORDS + 1];
    // SAFETY: they are numbers.
    let len = unsafe { tcp_option(socket, libc::TCP_CC_INFO, &mut words) }.ok()?;
    (len == WORDS * size_of::<u32>()).then(|| Bbr {
        bandwidth: u64::from(words[HIGH_BANDWIDTH]) << 32 | u64::from(words[LOW_BANDWIDTH]),
        least_us: words[LEAST_ROUND_TRIP],
        is_starting: words[PACING_GAIN] > GREATEST_LATER,
        is_looking: words[WINDOW_GAIN] == LOOKING,
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
    fn only_bbr_tells() {
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
            while !knows.is_starting {
                assert!(begin.elapsed() < Duration::from_secs(10), "{knows:?}");
                knows = bbr(client.as_fd()).unwrap();
            }
            assert!(knows.least_us < 1_000_000 && !knows.is_looking, "{knows:?}");
        }
    }
}
