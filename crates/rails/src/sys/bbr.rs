//! What BBR knows of a connection.

use std::os::fd::BorrowedFd;

use super::option::tcp_option;

/// Words of `struct tcp_bbr_info` (linux/inet_diag.h): the bandwidth in two, the least round trip, two gains.
const WORDS: usize = 5;
const LEAST_ROUND_TRIP: usize = 2;
const WINDOW_GAIN: usize = 4;
/// The gain of the window while it looks at the least round trip: 1, in units of 1/256.
const LOOKING: u32 = 256;

/// What BBR knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bbr {
    /// The least round trip of late, in microseconds.
    pub least_us: u32,
    /// It lets the path run empty in order to measure that.
    pub is_looking: bool,
}

/// Asks the kernel; `None` where the connection does not use the BBR that Linux comes with.
pub fn bbr(socket: BorrowedFd<'_>) -> Option<Bbr> {
    // One more, as another algorithm may tell more.
    let mut words = [0u32; WORDS + 1];
    // SAFETY: they are numbers.
    let len = unsafe { tcp_option(socket, libc::TCP_CC_INFO, &mut words) }.ok()?;
    (len == WORDS * size_of::<u32>())
        .then(|| Bbr { least_us: words[LEAST_ROUND_TRIP], is_looking: words[WINDOW_GAIN] == LOOKING })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn only_bbr_tells() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = socket2::SockRef::from(&client);
        socket.set_tcp_congestion(b"reno").unwrap();
        assert_eq!(bbr(client.as_fd()), None);
        if socket.set_tcp_congestion(b"bbr").is_ok() {
            assert!(bbr(client.as_fd()).is_some_and(|bbr| bbr.least_us < 1_000_000 && !bbr.is_looking));
        }
    }
}
