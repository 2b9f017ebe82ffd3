//! How a peer is told of a link to be: over a proven connection, which shows that it is from this endpoint.

use std::net::IpAddr;

use fishplate_engine::VcId;

/// A connection that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messenger {
    /// Its key.
    pub at: usize,
    /// The channel of its peer.
    pub vc: VcId,
    /// The peer's address.
    pub remote: IpAddr,
    /// The peer has set it up.
    pub by_peer: bool,
    /// It was set up while others carried.
    pub is_additional: bool,
}
