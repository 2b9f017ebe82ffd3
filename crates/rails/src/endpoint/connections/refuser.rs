//! Refuses connections that this process may have no file for: those who wait for an answer would wait long.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use fishplate_engine::Instant;

use crate::handshake::{Acceptor, MAX_MESSAGE_LEN, Nonce, Party, Refusal};

/// How long files may be short before anybody is refused, or gives up, in nanoseconds: connections that are being proven may
/// have them.
pub const PATIENCE_NS: u64 = 1_000_000_000;

/// A file that is kept, to be closed for a connection that is refused.
#[derive(Debug)]
pub struct Refuser {
    spare: Option<File>,
    /// Since when there is no file for a connection.
    since: Option<Instant>,
}

impl Refuser {
    /// Keeps a file.
    pub fn begin() -> Refuser {
        Refuser { spare: spare(), since: None }
    }

    /// A connection was taken.
    pub fn accepted(&mut self) {
        self.since = None;
    }

    /// None could be taken, as files are short: whether that has been so for `patience_ns`.
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

/// Tells a stranger or a peer. Whether that arrives does not matter: a peer tries again.
fn tell(mut stream: &TcpStream, me: &Party) {
    let _ = stream.set_nonblocking(true);
    // What has not been read when it is closed would have the kernel drop the refusal.
    let mut said = [0; MAX_MESSAGE_LEN];
    let len = stream.read(&mut said).unwrap_or(0);
    let refusal = Acceptor::new(me.clone(), Nonce::default()).refuse_unheard(&said[..len], Refusal::Files);
    let _ = stream.write_all(&refusal);
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}
