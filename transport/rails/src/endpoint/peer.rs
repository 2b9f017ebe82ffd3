//! The state of a peer beside the engine's virtual channel.

use std::net::IpAddr;

use fishplate_engine::{Instant, RailId};

use super::burst::Burst;
use super::connections::flap_damping::FlapDamping;
use crate::address::{Address, EndpointId};
use crate::discover::Class;
use crate::endpoint::link_id::LinkId;
use crate::handshake::Identity;

#[derive(Default)]
pub struct Peer {
    pub id: EndpointId,
    /// Its rank and host, once it has sent them.
    pub name: Option<String>,
    /// Its kernel has accepted a connection: it exists, though it may not answer yet.
    pub is_reached: bool,
    /// It has shown that it knows this endpoint's token.
    pub knows_us: bool,
    /// Set while the user has not named it.
    pub guest: Option<Box<Guest>>,
    /// `None` while it has connected and the user has not named it.
    pub address: Option<Address>,
    /// The side that sets up the connections.
    pub role: Role,
    pub burst: Burst,
    /// Links by index of the subchannel; `None` once closed.
    pub links: Vec<Option<LinkId>>,
    /// When connecting started.
    pub since: Instant,
    /// When the peer was last not given up because this host was cut off.
    pub cut_off_at: Instant,
    /// It has sent a goodbye.
    pub said_goodbye: bool,
    /// It has closed, or is closing: failed links are not set up again.
    pub is_closing: bool,
    /// The ways over which it has been connected.
    pub known_paths: Vec<KnownPath>,
    /// It has, or is to have, connections over all rails that lead to it, not a single one.
    pub is_widened: bool,
    /// After a failure: when it may be widened again.
    pub widen_after: Instant,
    /// When setting up connections was left to it.
    pub left_to_it_at: Option<Instant>,
    /// Its request for a connection was refused because there was one, which it may have given back by then.
    pub was_turned_away: bool,
    /// The user was warned that no rail led to it.
    pub is_reported_unreachable: bool,
    /// Number of its connections that were refused because they had come over another interface.
    pub detours: u32,
    /// Recent failures of its links, by rail.
    pub flap_damping: Vec<FlapDamping>,
    /// Ways to it are tried up to this class,
    pub reach: Class,
    /// since this time.
    pub reach_since: Instant,
    /// Why its last link failed, for the user.
    pub last_failure: String,
    /// Why connections to it could not be set up, for the user.
    pub attempt_errors: Vec<String>,
}

/// The proof of a peer that the user has not named.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Sent with each of its connections: shows that all are of one endpoint.
    pub alias: [u8; 32],
    /// To be verified once its token is known.
    pub identity: Identity,
}

/// A way to a peer: at most rails times streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// This side's rail.
    pub rail: RailId,
    /// Number of the rail's stream.
    pub stream: u8,
    /// Preference of the way.
    pub class: Class,
    /// The peer's address.
    pub remote: IpAddr,
}

/// The side that sets up the connections with a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nobody: there are none, and none is being set up.
    #[default]
    Unconnected,
    /// This endpoint.
    Initiator,
    /// The peer: this endpoint accepts them.
    Acceptor,
    /// Nobody: the peer is this endpoint itself.
    Itself,
    /// Nobody any more.
    Lost,
}

impl Peer {
    /// A peer without connections.
    pub fn new(id: EndpointId, itself: bool) -> Self {
        let role = if itself { Role::Itself } else { Role::Unconnected };
        Peer { id, role, ..Peer::default() }
    }

    /// Whether connections must be set up before anything can be sent.
    pub fn is_unconnected(&self) -> bool {
        self.role == Role::Unconnected
    }

    /// Whether this endpoint is to find a way to it.
    pub fn is_sought(&self) -> bool {
        self.role == Role::Initiator && !self.is_connected()
    }

    /// Leaves it to the peer to set up the connections.
    pub fn leave_connecting_to_it(&mut self, now: Instant) {
        self.role = Role::Acceptor;
        self.left_to_it_at = Some(now);
        // The peer knows of no traffic that would pay for more than one connection.
        self.is_widened = false;
    }

    /// Whether at least one link carries.
    pub fn is_connected(&self) -> bool {
        self.links.iter().any(Option::is_some)
    }

    pub fn flap_damping(&mut self, rail: RailId) -> &mut FlapDamping {
        let at = usize::from(rail.0);
        if self.flap_damping.len() <= at {
            self.flap_damping.resize_with(at + 1, FlapDamping::default);
        }
        &mut self.flap_damping[at]
    }

    /// Whether it has connections, or they are being set up, and it is not closing.
    pub fn is_there(&self) -> bool {
        matches!(self.role, Role::Initiator | Role::Acceptor) && !self.is_closing
    }

    /// Whether a link over a rail has failed while the peer stays connected.
    pub fn has_lost_link(&self, rail: RailId) -> bool {
        self.is_there() && self.flap_damping.get(usize::from(rail.0)).is_some_and(FlapDamping::has_failed)
    }

    /// Records that it has been connected over `way`.
    pub fn remember_path(&mut self, way: KnownPath) {
        if !self.known_paths.contains(&way) {
            self.known_paths.push(way);
        }
    }

    /// Sets the link of the subchannel with this index.
    pub fn set_link(&mut self, index: u8, link: LinkId) {
        let index = usize::from(index);
        if self.links.len() <= index {
            self.links.resize(index + 1, None);
        }
        self.links[index] = Some(link);
    }

    /// Its name for messages.
    pub fn describe(&self) -> String {
        let address = self.address.as_ref().map_or_else(|| format!("{:016x}", self.id.0), Address::to_string);
        match &self.name {
            Some(name) => format!("peer {address} ({name})"),
            None => format!("peer {address}"),
        }
    }
}
