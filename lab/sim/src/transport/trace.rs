//! Log of events: a hash that distinguishes runs, and readable lines.

use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};

use fishplate_engine::wire::{self, MAX_HEADER_LEN};

use super::ids::{ConnectionId, HostId};
use crate::events::Time;

/// Something that happened.
#[derive(Clone, Debug, Hash)]
pub enum Note<'a> {
    /// A user gives a command.
    Command(HostId, u64, Text<'a>),
    /// A frame is handed to a driver.
    Sent(ConnectionId, HostId, &'a [u8]),
    /// A header has arrived.
    Came(ConnectionId, HostId, &'a [u8]),
    /// A payload has been placed.
    Placed(ConnectionId, HostId),
    /// An operation completes, with `bytes` bytes.
    Ended(HostId, u64, u64, Text<'a>),
    /// A connection has been set up, over a rail.
    Up(ConnectionId, HostId, HostId, usize),
    /// An end of a connection learns that it is broken.
    Broken(ConnectionId, HostId, &'a str),
    /// A host gives up a peer.
    Lost(HostId, HostId, &'a str),
    /// A fault begins or ends.
    Fault(&'a str),
    /// An end of a connection shuts it in good order.
    Shut(ConnectionId, HostId),
}

/// Text for the log alone: it is built only if there is a log, and no part of the hash.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a str);

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The events of a run.
#[derive(Debug, Default)]
pub struct Trace {
    hash: Fnv,
    /// The log, if it is wanted.
    log: Option<String>,
}

/// FNV-1a: equal on every machine, unlike the standard library's hash.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// A word at a time: good enough to tell runs apart, and eight times as fast.
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

impl Trace {
    /// With lines, or without.
    pub fn new(logged: bool) -> Trace {
        Trace { hash: Fnv::default(), log: logged.then(String::new) }
    }

    /// Something happens.
    pub fn note(&mut self, now: Time, note: &Note<'_>) {
        now.hash(&mut self.hash);
        note.hash(&mut self.hash);
        if let Some(log) = &mut self.log {
            // Writing to a string does not fail.
            let _ = writeln!(log, "{:>16}  {note}", now.to_string());
        }
    }

    /// Whether there is a log.
    pub fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// Of everything so far.
    pub fn hash(&self) -> u64 {
        self.hash.finish()
    }

    pub fn into_log(self) -> String {
        self.log.unwrap_or_default()
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Command(host, id, what) => write!(f, "{host}: {id}: {what}"),
            Note::Sent(connection, host, header) => write!(f, "{host} > {connection}: {}", Header(header)),
            Note::Came(connection, host, header) => write!(f, "{host} < {connection}: {}", Header(header)),
            Note::Placed(connection, host) => write!(f, "{host} < {connection}: payload in place"),
            Note::Ended(host, id, len, what) => write!(f, "{host}: {id} ends with {len} bytes{what}"),
            Note::Up(connection, a, b, rail) => write!(f, "{connection}: {a} to {b} over rail {rail}"),
            Note::Shut(connection, host) => write!(f, "{host}: {connection} is shut"),
            Note::Broken(connection, host, why) => write!(f, "{host}: {connection} is broken: {why}"),
            Note::Lost(host, peer, why) => write!(f, "{host} gives up {peer}: {why}"),
            Note::Fault(what) => write!(f, "fault: {what}"),
        }
    }
}

struct Header<'a>(&'a [u8]);

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.0.len() <= MAX_HEADER_LEN);
        match wire::decode(self.0) {
            Ok(Some((header, _))) => {
                write!(f, "{:?} (ack {}, credit {})", header.body, header.ack, header.credit)
            }
            _ => write!(f, "no header: {:02x?}", self.0),
        }
    }
}
