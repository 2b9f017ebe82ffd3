//! How a connection is set up: both sides prove that they know the acceptor's token before anything else is parsed, and
//! agree on keys if they encrypt. Free of I/O. See `docs/wire.md`.
//!
//! ```text
//! initiator                                acceptor
//!   HELLO  ids, nonce, share       ──────▶
//!          ◀──────  CHALLENGE  nonce, share, HMAC(token, "acceptor" HELLO nonce share)
//!   PROOF  offer, HMAC(token, "initiator" HELLO nonce share offer) ──────▶
//!          ◀──────  ACCEPT  grant, HMAC(token, "grant" HELLO nonce share grant)
//!                   or, if it is asked for by PROOF, ADDRESSES  list, HMAC(token, "addresses" HELLO nonce share list)
//!                   or, at any point, REFUSE  reason
//! ```

mod error;
mod message;
#[cfg(test)]
mod tests;

use crate::address::{Address, EndpointId, Token};
use crate::encryption::{Ephemeral, Keys, NO_SHARE, Share, Side};
use crate::link_name::ASKS;
use message::{
    ACCEPT_LEN, CHALLENGE_LEN, FRESH_LEN, GRANT_LEN, HELLO_LEN, HELLO_NONCE_AT, LIST_HEAD_LEN, MAX_LIST_LEN, NONCE_LEN,
    OFFER_LEN, PREAMBLE_LEN, PROOF_LEN, PROOF_OF_TOKEN_LEN, check_preamble, kind, preamble, prove, purpose, take,
    u64_at, verify,
};

pub use error::{HandshakeError, Refusal, refusal_for};
pub use message::{MAX_ANSWER_LEN, MAX_MESSAGE_LEN, Nonce, Offer, refuse};

/// What follows from the bytes that have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// More bytes must come.
    Wait,
    /// Send this, then wait.
    Send(Vec<u8>),
    /// The peer is proven.
    Done(T),
}

/// The side that connects.
#[derive(Debug)]
pub struct Initiator {
    token: Token,
    hello: [u8; HELLO_LEN],
    offer: Offer,
    /// With encryption, until there are keys.
    ephemeral: Option<Ephemeral>,
    /// Nonce and share of the acceptor, once it has proven itself.
    fresh: Option<[u8; FRESH_LEN]>,
    keys: Option<Box<Keys>>,
    /// The acceptor's addresses, if they were asked for.
    addresses: Option<Vec<u8>>,
}

impl Initiator {
    /// Starts a handshake; the bytes are to be sent first.
    pub fn start(
        me: EndpointId,
        peer: &Address,
        nonce: Nonce,
        offer: Offer,
        encryption: bool,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let ephemeral = ephemeral(encryption)?;
        let mut hello = [0; HELLO_LEN];
        hello[..PREAMBLE_LEN].copy_from_slice(&preamble(kind::HELLO, 0));
        hello[8..16].copy_from_slice(&me.0.to_le_bytes());
        hello[16..24].copy_from_slice(&peer.id.0.to_le_bytes());
        hello[HELLO_NONCE_AT..].copy_from_slice(&fresh(&nonce, ephemeral.as_ref()));
        let (token, fresh, keys, addresses) = (peer.token, None, None, None);
        let initiator = Initiator { token, hello, offer, ephemeral, fresh, keys, addresses };
        Ok((initiator, hello.to_vec()))
    }

    /// Takes whole messages from the front of `received`. Done: the acceptor's grant, in bytes.
    pub fn advance(&mut self, received: &mut Vec<u8>) -> Result<Step<u64>, HandshakeError> {
        let Some(kind) = check_preamble(received)? else { return Ok(Step::Wait) };
        match (kind, self.fresh) {
            (kind::CHALLENGE, None) => match take::<CHALLENGE_LEN>(received) {
                Some(challenge) => self.prove(&challenge),
                None => Ok(Step::Wait),
            },
            (kind::ADDRESSES, Some(fresh)) if self.offer.stream == ASKS => self.told(&fresh, received),
            (kind::ACCEPT, Some(fresh)) if self.offer.stream != ASKS => match take::<ACCEPT_LEN>(received) {
                Some(accept) => self.accepted(&fresh, &accept),
                None => Ok(Step::Wait),
            },
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    /// The list that the acceptor was asked for, if it was.
    pub fn take_addresses(&mut self) -> Option<Vec<u8>> {
        self.addresses.take()
    }

    /// The keys of a connection whose peer is proven; `None`: it is not encrypted.
    pub fn into_keys(self) -> Option<Box<Keys>> {
        self.keys
    }

    fn prove(&mut self, challenge: &[u8; CHALLENGE_LEN]) -> Result<Step<u64>, HandshakeError> {
        let (fresh, proof) = halves::<FRESH_LEN>(&challenge[PREAMBLE_LEN..]);
        verify(&self.token, purpose::ACCEPTOR, &[&self.hello, &fresh], proof)?;
        let share = share_of(&fresh);
        check_encryption(self.ephemeral.is_some(), &share)?;
        self.keys = keys(self.ephemeral.take(), Side::Initiator, &share, &self.token, [&self.hello, &fresh])?;
        self.fresh = Some(fresh);
        let mut offer = [0; OFFER_LEN];
        offer[0] = self.offer.rail;
        offer[1] = self.offer.stream;
        offer[8..].copy_from_slice(&self.offer.grant.to_le_bytes());
        let own = prove(&self.token, purpose::INITIATOR, &[&self.hello, &fresh, &offer]);
        Ok(Step::Send([preamble(kind::PROOF, 0).as_slice(), &offer, own.as_ref()].concat()))
    }

    fn accepted(&self, fresh: &[u8; FRESH_LEN], accept: &[u8; ACCEPT_LEN]) -> Result<Step<u64>, HandshakeError> {
        let (grant, proof) = halves::<GRANT_LEN>(&accept[PREAMBLE_LEN..]);
        verify(&self.token, purpose::GRANT, &[&self.hello, fresh, &grant], proof)?;
        Ok(Step::Done(u64::from_le_bytes(grant)))
    }

    fn told(&mut self, fresh: &[u8; FRESH_LEN], received: &mut Vec<u8>) -> Result<Step<u64>, HandshakeError> {
        let Some(head) = received.get(PREAMBLE_LEN..).and_then(|rest| rest.first_chunk::<LIST_HEAD_LEN>()) else {
            return Ok(Step::Wait);
        };
        let len = usize::from(u16::from_le_bytes(*head));
        if len > MAX_LIST_LEN {
            return Err(HandshakeError::NotFishplate);
        }
        let end = PREAMBLE_LEN + LIST_HEAD_LEN + len;
        let Some(message) = received.get(..end + PROOF_OF_TOKEN_LEN) else { return Ok(Step::Wait) };
        let list = &message[PREAMBLE_LEN..end];
        verify(&self.token, purpose::ADDRESSES, &[&self.hello, fresh, list], &message[end..])?;
        self.addresses = Some(list[LIST_HEAD_LEN..].to_vec());
        received.drain(..end + PROOF_OF_TOKEN_LEN);
        Ok(Step::Done(0))
    }
}

/// The side that was connected to.
#[derive(Debug)]
pub struct Acceptor {
    me: EndpointId,
    token: Token,
    nonce: Nonce,
    encryption: bool,
    /// What was said until the challenge.
    said: Option<Said>,
    keys: Option<Box<Keys>>,
}

#[derive(Debug)]
struct Said {
    hello: [u8; HELLO_LEN],
    /// Nonce and share of this side.
    fresh: [u8; FRESH_LEN],
    /// With encryption, until there are keys.
    ephemeral: Option<Ephemeral>,
}

/// A proven initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Who it is.
    pub peer: EndpointId,
    /// What it offers.
    pub offer: Offer,
}

impl Acceptor {
    /// Waits for a handshake.
    pub fn new(me: EndpointId, token: Token, nonce: Nonce, encryption: bool) -> Self {
        Acceptor { me, token, nonce, encryption, said: None, keys: None }
    }

    /// Whether the initiator has said that it means this endpoint.
    pub fn is_named(&self) -> bool {
        self.said.is_some()
    }

    /// Takes whole messages from the front of `received`. On an error, send [`refuse`] with it.
    pub fn advance(&mut self, received: &mut Vec<u8>) -> Result<Step<Proven>, HandshakeError> {
        let Some(kind) = check_preamble(received).map_err(HandshakeError::of_initiator)? else { return Ok(Step::Wait) };
        match (kind, &self.said) {
            (kind::HELLO, None) => match take::<HELLO_LEN>(received) {
                Some(hello) => self.challenge(hello),
                None => Ok(Step::Wait),
            },
            (kind::PROOF, Some(_)) => match take::<PROOF_LEN>(received) {
                Some(proof) => self.check(&proof),
                None => Ok(Step::Wait),
            },
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    /// The last message, to one that is proven: it is granted so many bytes.
    pub fn accept(&self, grant: u64) -> Vec<u8> {
        let grant = grant.to_le_bytes();
        let said = self.said.as_ref().map_or([&[][..]; 2], |said| [&said.hello, &said.fresh]);
        let own = prove(&self.token, purpose::GRANT, &[said[0], said[1], &grant]);
        [preamble(kind::ACCEPT, 0).as_slice(), &grant, own.as_ref()].concat()
    }

    /// The last message, to one that is proven and has asked for the addresses of this endpoint.
    pub fn tell(&self, addresses: &[u8]) -> Vec<u8> {
        let list = [&(addresses.len() as u16).to_le_bytes(), addresses].concat();
        let said = self.said.as_ref().map_or([&[][..]; 2], |said| [&said.hello, &said.fresh]);
        let own = prove(&self.token, purpose::ADDRESSES, &[said[0], said[1], &list]);
        [preamble(kind::ADDRESSES, 0).as_slice(), &list, own.as_ref()].concat()
    }

    /// The keys of a connection whose peer is proven; `None`: it is not encrypted.
    pub fn take_keys(&mut self) -> Option<Box<Keys>> {
        self.keys.take()
    }

    fn challenge(&mut self, hello: [u8; HELLO_LEN]) -> Result<Step<Proven>, HandshakeError> {
        if u64_at(&hello, 16) != self.me.0 {
            return Err(HandshakeError::NotMe);
        }
        let (theirs, _) = halves::<FRESH_LEN>(&hello[HELLO_NONCE_AT..]);
        check_encryption(self.encryption, &share_of(&theirs))?;
        let ephemeral = ephemeral(self.encryption)?;
        let fresh = fresh(&self.nonce, ephemeral.as_ref());
        let own = prove(&self.token, purpose::ACCEPTOR, &[&hello, &fresh]);
        self.said = Some(Said { hello, fresh, ephemeral });
        Ok(Step::Send([preamble(kind::CHALLENGE, 0).as_slice(), &fresh, own.as_ref()].concat()))
    }

    fn check(&mut self, message: &[u8; PROOF_LEN]) -> Result<Step<Proven>, HandshakeError> {
        let Some(Said { hello, fresh, ephemeral }) = &mut self.said else { return Err(HandshakeError::NotFishplate) };
        let (offer, proof) = halves::<OFFER_LEN>(&message[PREAMBLE_LEN..]);
        verify(&self.token, purpose::INITIATOR, &[hello, fresh, &offer], proof)?;
        let (theirs, _) = halves::<FRESH_LEN>(&hello[HELLO_NONCE_AT..]);
        self.keys = keys(ephemeral.take(), Side::Acceptor, &share_of(&theirs), &self.token, [hello, fresh])?;
        Ok(Step::Done(Proven {
            peer: EndpointId(u64_at(hello, 8)),
            offer: Offer { rail: offer[0], stream: offer[1], grant: u64_at(&offer, 8) },
        }))
    }
}

fn ephemeral(encryption: bool) -> Result<Option<Ephemeral>, HandshakeError> {
    match encryption {
        true => Ephemeral::generate().map(Some).ok_or(HandshakeError::NoRandom),
        false => Ok(None),
    }
}

/// What each side contributes that is new with every connection.
fn fresh(nonce: &Nonce, ephemeral: Option<&Ephemeral>) -> [u8; FRESH_LEN] {
    let mut fresh = [0; FRESH_LEN];
    fresh[..NONCE_LEN].copy_from_slice(nonce);
    let share = ephemeral.map_or(&NO_SHARE, |ephemeral| ephemeral.share());
    fresh[NONCE_LEN..].copy_from_slice(share);
    fresh
}

fn share_of(fresh: &[u8; FRESH_LEN]) -> Share {
    let (_, share) = fresh.split_at(NONCE_LEN);
    share.first_chunk().copied().unwrap_or(NO_SHARE)
}

/// Both sides must encrypt, or neither.
fn check_encryption(here: bool, theirs: &Share) -> Result<(), HandshakeError> {
    let there = *theirs != NO_SHARE;
    if here == there { Ok(()) } else { Err(HandshakeError::Encryption(there)) }
}

/// The keys of one side, if it encrypts.
fn keys(
    ephemeral: Option<Ephemeral>,
    side: Side,
    theirs: &Share,
    token: &Token,
    transcript: [&[u8]; 2],
) -> Result<Option<Box<Keys>>, HandshakeError> {
    let Some(ephemeral) = ephemeral else { return Ok(None) };
    // What is no share comes from nobody who made it as the protocol says.
    ephemeral.agree(side, theirs, token, transcript).map(Box::new).map(Some).ok_or(HandshakeError::NotFishplate)
}

/// The first `N` bytes, and the rest. `bytes` are of a message whose length has been checked.
fn halves<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    let (first, rest) = bytes.split_at(N);
    let mut half = [0; N];
    half.copy_from_slice(first);
    (half, rest)
}
