//! Whether what leaves over a rail arrives at another host: tried by `fishplate doctor`, between two processes that know a
//! secret of each other. They use sockets as endpoints do: bound to interfaces, on ports of FISHPLATE_PORTS.
//!
//! [`answer`] is the side that is tried, [`path`] the side that tries; each host is both. Over a connection, who tries sends
//! the secret, and gets one byte: the position of the rail over which that came, or `OTHER_RAIL`. Then `ECHO` is
//! answered at once, and `LONG` once `LONG_BYTES` have come after it. A datagram is the secret and a number of two bytes,
//! which come back; what follows these does not.

pub mod answer;
mod datagrams;
pub mod path;

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes of a secret.
const SECRET_LEN: usize = 16;
/// The connection has come over another interface than a rail's.
const OTHER_RAIL: u8 = u8::MAX;
/// Asks for the same byte.
const ECHO: u8 = b'e';
/// Asks for the same byte, once more bytes have come.
const LONG: u8 = b'l';
/// So many: dozens of full segments.
const LONG_BYTES: usize = 64 << 10;
/// How long to wait for anything: a handshake whose first segment was lost is repeated after one second.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What others need in order to try the paths to a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Its rails.
    pub rails: Vec<OfferedRail>,
    /// Where it takes connections.
    pub port: u16,
    /// What they begin with.
    pub secret: [u8; SECRET_LEN],
}

/// A rail of another host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedRail {
    /// Its name there.
    pub name: String,
    /// It is in reserve: such come behind the others.
    #[serde(default)]
    pub is_in_reserve: bool,
    /// Its addresses, and the port of each where it takes datagrams, if it does.
    pub addresses: Vec<(IpAddr, Option<u16>)>,
}
