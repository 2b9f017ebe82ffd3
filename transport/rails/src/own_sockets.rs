//! The sockets of this library: `fishplate run` looks for traffic of the process over other sockets.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::fstat;

/// Inode numbers of the sockets. Closed ones stay: the kernel reuses numbers only after 2^32 others.
static NUMBERS: Mutex<Option<HashSet<u64>>> = Mutex::new(None);

/// Adds a connection that carries frames.
pub fn add(socket: impl AsFd) {
    let Ok(status) = fstat(socket) else { return };
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    numbers.get_or_insert_default().insert(status.st_ino);
}

/// Whether the socket with this inode number was added.
pub fn has(number: u64) -> bool {
    let numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    numbers.as_ref().is_some_and(|numbers| numbers.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn only_sockets_that_were_added_are_known() {
        let [ours, other] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        add(&ours);
        let is_known = |socket: &TcpListener| has(fstat(socket).unwrap().st_ino);
        assert_eq!((is_known(&ours), is_known(&other)), (true, false));
    }
}
