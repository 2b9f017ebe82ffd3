//! A proven connection that carries the set-up of a link of another kind, and so authenticates it.

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
