//! The peers of an endpoint, by channel and by id, and their authentication. A peer that the user has named, by its address, must
//! prove both tokens. Others may connect too, as the user may name them later: these *guests* have proven that they know this
//! endpoint's token. A guest is identified by an alias until it is named; then its earlier proof of identity is verified.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use fishplate_engine::{Engine, VcId};

use super::Endpoint;
use super::peer::{Guest, Peer};
use crate::address::{Address, EndpointId, Token};
use crate::handshake::{Party, Proven, Refusal};
use crate::logger::STRANGERS;
use crate::process;

/// Number of guests, at most, including lost ones: each takes some memory for good. The ranks of a job may all be guests of one
/// that never sends to them.
const MAX_GUESTS: usize = 4096;

#[derive(Default)]
pub struct Peers {
    /// By number of the virtual channel.
    by_channel: Vec<Peer>,
    by_id: HashMap<EndpointId, VcId>,
    /// Tokens of the peers that the user has named.
    named_tokens: HashMap<EndpointId, Token>,
    /// Number of guests so far.
    guests: usize,
    /// Peers that only have connected to this endpoint, and whose links have failed: the user is to give their addresses.
    pub nameless: Vec<VcId>,
    /// The last connection of some peer was given back: there may be unconnected peers with a backlog.
    pub has_unconnected: bool,
}

impl Peers {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.by_channel.iter()
    }

    /// The channels of all peers.
    pub fn channels(&self) -> impl Iterator<Item = VcId> + use<> {
        (0..self.by_channel.len() as u32).map(VcId)
    }

    /// The token of a peer that the user has named.
    pub fn token(&self, id: EndpointId) -> Option<Token> {
        self.named_tokens.get(&id).copied()
    }

    /// The channel of a peer that has proven to know the token of `me`, if its identity is right.
    pub fn identify(&mut self, proven: &Proven, me: &Party, engine: &mut Engine) -> Result<VcId, Refusal> {
        if let Some(token) = self.named_tokens.get(&proven.peer) {
            let is_itself = proven.identity.is_of(token, me.terms.secret.as_ref());
            return if is_itself { Ok(self.of_id(proven.peer, me, engine)) } else { Err(Refusal::Token) };
        }
        if let Some(vc) = self.by_id.get(&proven.peer) {
            return match &self[*vc].guest {
                Some(guest) if guest.alias == proven.alias => Ok(*vc),
                _ => Err(Refusal::Token),
            };
        }
        if self.guests >= MAX_GUESTS.max(process::ranks().unwrap_or(0) as usize) {
            return Err(Refusal::Crowded);
        }
        self.guests += 1;
        let guest = Guest { alias: proven.alias, identity: proven.identity.clone() };
        let peer = Peer { guest: Some(Box::new(guest)), ..Peer::new(proven.peer, false) };
        Ok(self.add(engine.open_guest(), peer))
    }

    /// The user has named a peer: it must prove its own token from now on. A guest of that id becomes the peer if its proof is right;
    /// otherwise it loses the id, and its channel is returned, to be lost.
    pub fn acquaint(&mut self, address: &Address, me: &Party, engine: &mut Engine) -> Option<VcId> {
        if address.id == me.id || self.named_tokens.insert(address.id, address.token).is_some() {
            return None;
        }
        let vc = self.by_id.get(&address.id).copied()?;
        let guest = self[vc].guest.take()?;
        if guest.identity.is_of(&address.token, me.terms.secret.as_ref()) {
            self.guests -= 1;
            engine.name_guest(vc);
            return None;
        }
        self.by_id.remove(&address.id);
        Some(vc)
    }

    /// The channel to a named peer, made if there is none.
    pub fn of_id(&mut self, id: EndpointId, me: &Party, engine: &mut Engine) -> VcId {
        if let Some(vc) = self.by_id.get(&id) {
            return *vc;
        }
        let itself = id == me.id;
        let vc = if itself { engine.open_loopback() } else { engine.open() };
        self.add(vc, Peer::new(id, itself))
    }

    fn add(&mut self, vc: VcId, peer: Peer) -> VcId {
        debug_assert_eq!(vc.0 as usize, self.by_channel.len(), "the engine numbers channels as peers are added");
        self.by_id.insert(peer.id, vc);
        self.by_channel.push(peer);
        vc
    }
}

impl Index<VcId> for Peers {
    type Output = Peer;

    #[inline]
    fn index(&self, vc: VcId) -> &Peer {
        &self.by_channel[vc.0 as usize]
    }
}

impl IndexMut<VcId> for Peers {
    #[inline]
    fn index_mut(&mut self, vc: VcId) -> &mut Peer {
        &mut self.by_channel[vc.0 as usize]
    }
}

impl Endpoint {
    /// The user has named a peer: a guest of that id with a wrong proof is lost.
    pub(super) fn acquaint(&mut self, address: &Address) {
        let Some(impostor) = self.peers.acquaint(address, &self.identity.party, &mut self.engine) else { return };
        log::warn!(target: STRANGERS, "the endpoint that has connected as {:016x} is another one, and is disconnected", address.id.0);
        let why = format!("{} is not the endpoint that it claimed to be", self.peers[impostor].describe());
        self.lose_peer(impostor, &why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::tests::OFFER;
    use crate::handshake::{self, Acceptor, Initiator, Step, Terms};
    use crate::settings::Settings;

    fn party(id: u8) -> Party {
        handshake::tests::party(id, Terms::default())
    }

    fn address(id: u8) -> Address {
        handshake::tests::address(id, id)
    }

    /// Endpoint `id` has proven itself to endpoint 9, of which it knows `peers`.
    fn proven(initiator: &Party, peers: &Peers) -> Proven {
        let mut acceptor = Acceptor::new(party(9), [2; 16]);
        let (mut initiator, mut hello) = Initiator::start(initiator, &address(9), [1; 16], OFFER, false).unwrap();
        let token = |id| peers.token(id);
        let Ok(Step::Send(mut challenge)) = acceptor.advance(&mut hello, token) else { panic!("no challenge") };
        let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge) else { panic!("no proof") };
        let Ok(Step::Done(proven)) = acceptor.advance(&mut proof, token) else { panic!("it is not proven") };
        proven
    }

    fn none() -> (Peers, Engine) {
        (Peers::default(), Engine::new(Settings::default().engine_config(1..1)))
    }

    #[test]
    fn a_guest_that_is_named_becomes_the_peer_on_its_channel() {
        let (mut peers, mut engine) = none();
        let guest = proven(&party(5), &peers);
        let vc = peers.identify(&guest, &party(9), &mut engine).unwrap();
        assert_eq!(peers.identify(&guest, &party(9), &mut engine), Ok(vc), "its next connection");
        assert_eq!(peers.guests, 1);
        assert_eq!(peers.acquaint(&address(5), &party(9), &mut engine), None);
        assert_eq!((peers.guests, peers.of_id(EndpointId(5), &party(9), &mut engine)), (0, vc));
        let named = proven(&party(5), &peers);
        assert_eq!(peers.identify(&named, &party(9), &mut engine), Ok(vc));
    }

    #[test]
    fn a_guest_that_is_not_who_it_said_loses_the_name() {
        let (mut peers, mut engine) = none();
        let impostor = Party { token: Token([6; 16]), ..party(5) };
        let guest = proven(&impostor, &peers);
        let vc = peers.identify(&guest, &party(9), &mut engine).unwrap();
        assert_eq!(peers.acquaint(&address(5), &party(9), &mut engine), Some(vc));
        assert_ne!(peers.of_id(EndpointId(5), &party(9), &mut engine), vc);
        assert_eq!(peers.identify(&guest, &party(9), &mut engine), Err(Refusal::Token));
    }

    #[test]
    fn of_a_guest_another_one_does_not_get_the_name() {
        let (mut peers, mut engine) = none();
        let first = proven(&party(5), &peers);
        peers.identify(&first, &party(9), &mut engine).unwrap();
        let second = proven(&Party { token: Token([6; 16]), ..party(5) }, &peers);
        assert_eq!(peers.identify(&second, &party(9), &mut engine), Err(Refusal::Token));
    }

    #[test]
    fn guests_are_limited_in_number_and_named_peers_are_not() {
        let (mut peers, mut engine) = none();
        peers.guests = MAX_GUESTS;
        let stranger = proven(&party(5), &peers);
        assert_eq!(peers.identify(&stranger, &party(9), &mut engine), Err(Refusal::Crowded));
        peers.acquaint(&address(5), &party(9), &mut engine);
        let named = proven(&party(5), &peers);
        assert!(peers.identify(&named, &party(9), &mut engine).is_ok());
    }
}
