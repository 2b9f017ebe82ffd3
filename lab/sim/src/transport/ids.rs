//! Identifiers of hosts and connections.

use std::fmt;

/// A host: one engine with its driver and its user. Also its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub usize);

/// A connection of two hosts over one rail: a subchannel of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub usize);

/// An end of a connection: 0 where it was set up, 1 at the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End(pub usize);

/// One direction of a connection, by the end that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId {
    pub connection: ConnectionId,
    pub from: End,
}

impl End {
    pub const BOTH: [End; 2] = [End(0), End(1)];

    /// The one at the other side.
    pub fn other(self) -> End {
        End(1 - self.0)
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}
