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

/// A host's end of a connection; also the direction in which it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    pub connection: ConnectionId,
    pub end: End,
}

impl ConnectionId {
    pub fn ends(self) -> [LinkId; 2] {
        [End(0), End(1)].map(|end| LinkId { connection: self, end })
    }
}

impl LinkId {
    /// The one at the other side; also the direction that comes from there.
    pub fn other(self) -> LinkId {
        LinkId { end: End(1 - self.end.0), ..self }
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
