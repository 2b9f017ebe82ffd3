//! Refuses connections that this process has no file descriptor for: otherwise peers would wait long for an answer.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use fishplate_engine::Instant;

use crate::handshake::{Acceptor, MAX_MESSAGE_LEN, Nonce, Party, Refusal};

/// For how long files may be short before connections are refused, or attempts given up, in nanoseconds: unproven connections may
/// occupy them for a while.
pub const PATIENCE_NS: u64 = 1_000_000_000;

/// Keeps an open file, to be closed for a moment in order to accept and refuse a connection.
#[derive(Debug)]
pub struct Refuser {
    spare: Option<File>,
    /// Since when there is no file for a connection.
    since: Option<Instant>,
}

impl Refuser {
    /// Opens the file.
    pub fn begin() -> Refuser {
        Refuser { spare: spare(), since: None }
    }

    /// A connection was accepted.
    pub fn accepted(&mut self) {
        self.since = None;
    }

    /// No connection could be accepted for lack of files. Returns whether that has been so for `patience_ns`.
    pub fn is_due(&mut self, now: Instant, patience_ns: u64) -> bool {
        now.since_ns(*self.since.get_or_insert(now)) >= patience_ns
    }

    /// Refuses the connection that waits longest. True if there was one.
    pub fn refuse_one(&mut self, listener: &TcpListener, me: &Party) -> bool {
        self.spare = None;
        let accepted = listener.accept().ok();
        let is_refused = accepted.is_some();
        if let Some((stream, _)) = accepted {
            tell(&stream, me);
        }
        self.spare = spare();
        is_refused
    }
}

/// Sends the refusal. It does not matter whether it arrives: a peer tries again.
fn tell(mut stream: &TcpStream, me: &Party) {
    let _ = stream.set_nonblocking(true);
    // Unread bytes at the close would reset the connection, and drop the refusal.
    let mut said = [0; MAX_MESSAGE_LEN];
    let len = stream.read(&mut said).unwrap_or(0);
    let refusal = Acceptor::new(me.clone(), Nonce::default()).refuse_unheard(&said[..len], Refusal::Files);
    let _ = stream.write_all(&refusal);
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}
