//! Names of links of all kinds.

/// An open link of an endpoint: its kind, and its key among those of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkId {
    /// A TCP connection, with its datagrams.
    Tcp(usize),
    /// Memory that a peer of this host shares.
    Memory(usize),
    /// An endpoint of a libfabric provider.
    Ofi(usize),
}
