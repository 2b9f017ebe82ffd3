//! What an endpoint knows of a peer beside the engine's virtual channel.

use std::net::IpAddr;

use fishplate_engine::{Instant, RailId};

use super::burst::Burst;
use super::connections::flap_damping::FlapDamping;
use crate::address::{Address, EndpointId};
use crate::discover::Class;
use crate::handshake::Identity;
use crate::link_kind::LinkId;

/// A peer.
pub struct Peer {
    /// Its name.
    pub id: EndpointId,
    /// Its rank and host, once it has told.
    pub name: Option<String>,
    /// Its kernel has taken a connection: it is there, though it may not answer yet.
    pub is_reached: bool,
    /// It has shown that it knows this endpoint's token.
    pub knows_us: bool,
    /// It is nobody whom the user has named so far.
    pub guest: Option<Box<Guest>>,
    /// Where it is; unknown while only it has connected to us.
    pub address: Option<Address>,
    /// Who sets up the connections.
    pub role: Role,
    /// What is sent to it in a row.
    pub burst: Burst,
    /// Links by number of the subchannel; `None` once closed.
    pub links: Vec<Option<LinkId>>,
    /// When connecting started.
    pub since: Instant,
    /// When this host was last seen to be cut off, as it was to be given up.
    pub cut_off_at: Instant,
    /// It has said that it closes.
    pub said_goodbye: bool,
    /// It has closed, or takes leave: what fails now is not set up again.
    pub is_closing: bool,
    /// Over which ways it has been connected.
    pub known_paths: Vec<KnownPath>,
    /// It has connections over all rails that lead to it, or is to have them: not one alone.
    pub is_widened: bool,
    /// When that may be tried, after a failure.
    pub widen_after: Instant,
    /// Since when it sets up the connections instead of this endpoint.
    pub left_to_it_at: Option<Instant>,
    /// It has asked for a connection and was turned away, as there was one, which it may have given back by then.
    pub was_turned_away: bool,
    /// The user knows that there was no way to it at first.
    pub is_told_unreachable: bool,
    /// Connections refused because they had come over another interface.
    pub detours: u32,
    /// How its links have failed of late, by rail.
    pub flap_damping: Vec<FlapDamping>,
    /// Up to this class ways to it are tried.
    pub reach: Class,
    /// Since when.
    pub reach_since: Instant,
    /// Why its last link failed, for the user.
    pub last_failure: String,
    /// Why connections to it could not be set up, for the user.
    pub attempt_errors: Vec<String>,
}

/// What is known of a peer that the user has not named.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Shown with each of its connections: all are of one and the same.
    pub alias: [u8; 32],
    /// Whether it is who it says.
    pub identity: Identity,
}

/// A way to a peer: at most rails times streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// This side's rail.
    pub rail: RailId,
    /// Which of its streams.
    pub stream: u8,
    /// How it is preferred to others.
    pub class: Class,
    /// The peer's rail.
    pub remote: IpAddr,
}

/// Who sets up the connections with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nobody: there are none, and none is being set up.
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
        Peer {
            id,
            name: None,
            is_reached: false,
            knows_us: false,
            guest: None,
            address: None,
            role,
            burst: Burst::default(),
            links: Vec::new(),
            since: Instant(0),
            cut_off_at: Instant(0),
            said_goodbye: false,
            is_closing: false,
            known_paths: Vec::new(),
            is_widened: false,
            widen_after: Instant(0),
            left_to_it_at: None,
            was_turned_away: false,
            is_told_unreachable: false,
            detours: 0,
            flap_damping: Vec::new(),
            reach: Class::Rail,
            reach_since: Instant(0),
            last_failure: String::new(),
            attempt_errors: Vec::new(),
        }
    }

    /// Whether connections must be set up before anything can be sent.
    pub fn is_unconnected(&self) -> bool {
        self.role == Role::Unconnected
    }

    /// Whether this endpoint looks for a way to it.
    pub fn is_sought(&self) -> bool {
        self.role == Role::Initiator && !self.is_connected()
    }

    /// From now on it sets up the connections.
    pub fn leave_connecting_to_it(&mut self, now: Instant) {
        self.role = Role::Acceptor;
        self.left_to_it_at = Some(now);
        // It knows of no traffic that would pay for more than one.
        self.is_widened = false;
    }

    /// Whether at least one link carries.
    pub fn is_connected(&self) -> bool {
        self.links.iter().any(Option::is_some)
    }

    /// The failures of a rail's links.
    pub fn flap_damping(&mut self, rail: RailId) -> &mut FlapDamping {
        let at = usize::from(rail.0);
        if self.flap_damping.len() <= at {
            self.flap_damping.resize_with(at + 1, FlapDamping::default);
        }
        &mut self.flap_damping[at]
    }

    /// Whether connections to it are there, or are being set up, and it takes no leave.
    pub fn is_there(&self) -> bool {
        matches!(self.role, Role::Initiator | Role::Acceptor) && !self.is_closing
    }

    /// Whether a link over a rail has failed while the peer is there.
    pub fn has_lost(&self, rail: RailId) -> bool {
        self.is_there() && self.flap_damping.get(usize::from(rail.0)).is_some_and(FlapDamping::has_failed)
    }

    /// It has been connected over `way`.
    pub fn remember_path(&mut self, way: KnownPath) {
        if !self.known_paths.contains(&way) {
            self.known_paths.push(way);
        }
    }

    /// A link is subchannel number `index`.
    pub fn set_link(&mut self, index: u8, link: LinkId) {
        let index = usize::from(index);
        if self.links.len() <= index {
            self.links.resize(index + 1, None);
        }
        self.links[index] = Some(link);
    }

    /// How messages call it.
    pub fn describe(&self) -> String {
        let address = self.address.as_ref().map_or_else(|| format!("{:016x}", self.id.0), Address::to_string);
        match &self.name {
            Some(name) => format!("peer {address} ({name})"),
            None => format!("peer {address}"),
        }
    }
}
