//! Who peers are. One that the user has named, by its address, is known by both tokens. Others may connect as well, as the user
//! may name them later: they are *guests*, who have shown that they know this endpoint's token. A guest is known by an alias
//! until it is named; then it has to be who it said.

use fishplate_engine::VcId;

use crate::address::{Address, EndpointId};
use crate::endpoint::Endpoint;
use crate::endpoint::peer::{Guest, Peer};
use crate::handshake::{Proven, Refusal};
use crate::logger::STRANGERS;
use crate::process;

/// Most guests, those that are gone included: each takes some memory for good. The ranks of a job may all be guests of one that
/// never sends to them.
const MOST_GUESTS: usize = 4096;

impl Endpoint {
    /// The channel of one who has proven that he knows this endpoint's token, if he is who he says.
    pub(in crate::endpoint) fn identify(&mut self, proven: &Proven) -> Result<VcId, Refusal> {
        if let Some(token) = self.acquaintances.get(&proven.peer) {
            let is_itself = proven.identity.is_of(token, self.party.terms.secret.as_ref());
            return if is_itself { Ok(self.peer_by_id(proven.peer)) } else { Err(Refusal::Token) };
        }
        if let Some(vc) = self.by_id.get(&proven.peer) {
            return match &self.peers[vc.0 as usize].guest {
                Some(guest) if guest.alias == proven.alias => Ok(*vc),
                _ => Err(Refusal::Token),
            };
        }
        if self.guests >= MOST_GUESTS.max(process::ranks().unwrap_or(0) as usize) {
            return Err(Refusal::Crowded);
        }
        Ok(self.take_guest(proven))
    }

    fn take_guest(&mut self, proven: &Proven) -> VcId {
        self.guests += 1;
        let vc = self.engine.open_guest();
        self.by_id.insert(proven.peer, vc);
        let guest = Guest { alias: proven.alias, identity: proven.identity.clone() };
        self.peers.push(Peer { guest: Some(Box::new(guest)), ..Peer::new(proven.peer, false) });
        vc
    }

    /// The user has named a peer: from now on it must know its own token as well. A guest of that name becomes the peer, or
    /// loses the name.
    pub(in crate::endpoint) fn acquaint(&mut self, address: &Address) {
        if address.id == self.address.id || self.acquaintances.insert(address.id, address.token).is_some() {
            return;
        }
        let Some(vc) = self.by_id.get(&address.id).copied() else { return };
        let Some(guest) = self.peers[vc.0 as usize].guest.take() else { return };
        if guest.identity.is_of(&address.token, self.party.terms.secret.as_ref()) {
            self.guests -= 1;
            self.engine.welcome(vc);
            return;
        }
        log::warn!(target: STRANGERS, "who has connected as {:016x} is another one, and is let go", address.id.0);
        self.by_id.remove(&address.id);
        let why = format!("{} is not who it said", self.peers[vc.0 as usize].describe());
        self.lose_peer(vc, &why);
    }

    /// The channel to an endpoint that is known, made if need be.
    pub(in crate::endpoint) fn peer_by_id(&mut self, id: EndpointId) -> VcId {
        if let Some(vc) = self.by_id.get(&id) {
            return *vc;
        }
        let itself = id == self.address.id;
        let vc = if itself { self.engine.open_loopback() } else { self.engine.open() };
        self.by_id.insert(id, vc);
        self.peers.push(Peer::new(id, itself));
        vc
    }
}

/// Why somebody who knows the token is refused, for the user.
pub(in crate::endpoint) fn why(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Crowded => "too many others that the MPI library has not named are connected, or were",
        _ => "it is not who it says",
    }
}
