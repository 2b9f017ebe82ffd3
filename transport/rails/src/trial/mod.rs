//! Trials of `fishplate doctor`: whether packets over a rail arrive at another host, between two processes that know a secret of
//! each other. Their sockets are those of endpoints: bound to interfaces, on ports of FISHPLATE_PORTS.
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
/// Number of bytes behind `LONG`: dozens of full segments.
const LONG_BYTES: usize = 64 << 10;
/// Timeout of each step: a lost SYN is retransmitted after one second.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Data that others need in order to try the paths to a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Its rails.
    pub rails: Vec<OfferedRail>,
    /// Port for connections.
    pub port: u16,
    /// Secret that connections begin with.
    pub secret: [u8; SECRET_LEN],
}

/// A rail of another host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedRail {
    /// Its name there.
    pub name: String,
    /// It is in reserve. Interfaces in reserve come after the rails.
    #[serde(default)]
    pub is_in_reserve: bool,
    /// Its addresses, each with the port for datagrams, if there is one.
    pub addresses: Vec<(IpAddr, Option<u16>)>,
}
