//! What BBR knows of a connection.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Words of `struct tcp_bbr_info` (linux/inet_diag.h): the bandwidth in two, the least round trip, two gains.
const WORDS: usize = 5;
const LEAST_ROUND_TRIP: usize = 2;

/// The least round trip of late, in microseconds; `None` where the connection does not use the BBR that Linux comes with.
pub fn least_round_trip_us(socket: BorrowedFd<'_>) -> Option<u32> {
    // One more, as another algorithm may tell more.
    let mut words = [0u32; WORDS + 1];
    let mut len = size_of_val(&words) as libc::socklen_t;
    // SAFETY: `words` is valid for writes of `len` bytes; the kernel writes no more.
    let result = unsafe {
        let to = words.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CC_INFO, to, &mut len)
    };
    (result == 0 && len as usize == WORDS * size_of::<u32>()).then_some(words[LEAST_ROUND_TRIP])
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
        assert_eq!(least_round_trip_us(client.as_fd()), None);
        if socket.set_tcp_congestion(b"bbr").is_ok() {
            assert!(least_round_trip_us(client.as_fd()).is_some_and(|us| us < 1_000_000));
        }
    }
}
