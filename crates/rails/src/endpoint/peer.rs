//! What an endpoint knows of a peer beside the engine's virtual channel.

use fishplate_engine::Instant;

use super::burst::Burst;
use crate::address::{Address, EndpointId};

/// A peer.
pub struct Peer {
    /// Its name.
    pub id: EndpointId,
    /// Where it is; unknown while only it has connected to us.
    pub address: Option<Address>,
    /// Who sets up the connections.
    pub role: Role,
    /// What is sent to it in a row.
    pub burst: Burst,
    /// Links by number of the subchannel; `None` once closed.
    pub links: Vec<Option<usize>>,
    /// When connecting started.
    pub since: Instant,
    /// Why connections to it could not be set up, for the user.
    pub troubles: Vec<String>,
}

/// Who sets up the connections with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nobody yet.
    Idle,
    /// This endpoint.
    Initiator,
    /// The peer.
    Acceptor,
    /// Nobody: the peer is this endpoint itself.
    Itself,
    /// Nobody any more.
    Lost,
}

impl Peer {
    /// A peer without connections.
    pub fn new(id: EndpointId, itself: bool) -> Self {
        let role = if itself { Role::Itself } else { Role::Idle };
        Peer {
            id,
            address: None,
            role,
            burst: Burst::default(),
            links: Vec::new(),
            since: Instant(0),
            troubles: Vec::new(),
        }
    }

    /// Whether connections must be set up before anything can be sent.
    pub fn is_idle(&self) -> bool {
        self.role == Role::Idle
    }

    /// Whether at least one link carries.
    pub fn is_connected(&self) -> bool {
        self.links.iter().any(Option::is_some)
    }

    /// How messages call it.
    pub fn describe(&self) -> String {
        match &self.address {
            Some(address) => format!("peer {address}"),
            None => format!("peer {:016x}", self.id.0),
        }
    }
}
