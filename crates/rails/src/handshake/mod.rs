//! How a connection is set up: both sides prove that they know the acceptor's token before anything else is parsed.
//! Free of I/O. See `docs/wire.md`.
//!
//! ```text
//! initiator                                acceptor
//!   HELLO  ids, nonce            ──────▶
//!          ◀──────  CHALLENGE  nonce, HMAC(token, "acceptor" HELLO nonce)
//!   PROOF  offer, HMAC(token, "initiator" HELLO nonce offer) ──────▶
//!          ◀──────  ACCEPT  grant      or, at any point, REFUSE  reason
//! ```

mod error;
mod message;
#[cfg(test)]
mod tests;

use hmac::Mac;

use crate::address::{Address, EndpointId, Token};
use message::{
    ACCEPT_LEN, CHALLENGE_LEN, HELLO_LEN, OFFER_LEN, PREAMBLE_LEN, PROOF_LEN, acceptor_mac, check_preamble,
    initiator_mac, kind, preamble, take, u64_at,
};

pub use error::{HandshakeError, Refusal, refusal_for};
pub use message::{MAX_MESSAGE_LEN, Nonce, Offer, accept, refuse};

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
    proof_sent: bool,
}

impl Initiator {
    /// Starts a handshake; the bytes are to be sent first.
    pub fn start(me: EndpointId, peer: &Address, nonce: Nonce, offer: Offer) -> (Self, Vec<u8>) {
        let mut hello = [0; HELLO_LEN];
        hello[..PREAMBLE_LEN].copy_from_slice(&preamble(kind::HELLO, 0));
        hello[8..16].copy_from_slice(&me.0.to_le_bytes());
        hello[16..24].copy_from_slice(&peer.id.0.to_le_bytes());
        hello[24..].copy_from_slice(&nonce);
        (Initiator { token: peer.token, hello, offer, proof_sent: false }, hello.to_vec())
    }

    /// Takes whole messages from the front of `received`. Done: the acceptor's grant, in bytes.
    pub fn advance(&mut self, received: &mut Vec<u8>) -> Result<Step<u64>, HandshakeError> {
        let Some(kind) = check_preamble(received)? else { return Ok(Step::Wait) };
        match (kind, self.proof_sent) {
            (kind::CHALLENGE, false) => match take::<CHALLENGE_LEN>(received) {
                Some(challenge) => self.prove(&challenge),
                None => Ok(Step::Wait),
            },
            (kind::ACCEPT, true) => match take::<ACCEPT_LEN>(received) {
                Some(accept) => Ok(Step::Done(u64_at(&accept, PREAMBLE_LEN))),
                None => Ok(Step::Wait),
            },
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    fn prove(&mut self, challenge: &[u8; CHALLENGE_LEN]) -> Result<Step<u64>, HandshakeError> {
        let (nonce, mac) = challenge[PREAMBLE_LEN..].split_at(16);
        acceptor_mac(&self.token, &self.hello, nonce).verify_slice(mac).map_err(|_| HandshakeError::Token)?;
        self.proof_sent = true;
        let mut proof = preamble(kind::PROOF, 0).to_vec();
        let mut offer = [0; OFFER_LEN];
        offer[0] = self.offer.rail;
        offer[1] = self.offer.stream;
        offer[8..].copy_from_slice(&self.offer.grant.to_le_bytes());
        proof.extend_from_slice(&offer);
        proof.extend_from_slice(&initiator_mac(&self.token, &self.hello, nonce, &offer).finalize().into_bytes());
        Ok(Step::Send(proof))
    }
}

/// The side that was connected to.
#[derive(Debug)]
pub struct Acceptor {
    me: EndpointId,
    token: Token,
    nonce: Nonce,
    hello: Option<[u8; HELLO_LEN]>,
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
    pub fn new(me: EndpointId, token: Token, nonce: Nonce) -> Self {
        Acceptor { me, token, nonce, hello: None }
    }

    /// Whether the initiator has said that it means this endpoint.
    pub fn is_named(&self) -> bool {
        self.hello.is_some()
    }

    /// Takes whole messages from the front of `received`. On an error, send [`refuse`] with it.
    pub fn advance(&mut self, received: &mut Vec<u8>) -> Result<Step<Proven>, HandshakeError> {
        let Some(kind) = check_preamble(received)? else { return Ok(Step::Wait) };
        match (kind, self.hello) {
            (kind::HELLO, None) => match take::<HELLO_LEN>(received) {
                Some(hello) => self.challenge(hello),
                None => Ok(Step::Wait),
            },
            (kind::PROOF, Some(hello)) => match take::<PROOF_LEN>(received) {
                Some(proof) => self.verify(&hello, &proof),
                None => Ok(Step::Wait),
            },
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    fn challenge(&mut self, hello: [u8; HELLO_LEN]) -> Result<Step<Proven>, HandshakeError> {
        if u64_at(&hello, 16) != self.me.0 {
            return Err(HandshakeError::NotMe);
        }
        self.hello = Some(hello);
        let mut challenge = preamble(kind::CHALLENGE, 0).to_vec();
        challenge.extend_from_slice(&self.nonce);
        challenge.extend_from_slice(&acceptor_mac(&self.token, &hello, &self.nonce).finalize().into_bytes());
        Ok(Step::Send(challenge))
    }

    fn verify(&self, hello: &[u8; HELLO_LEN], proof: &[u8; PROOF_LEN]) -> Result<Step<Proven>, HandshakeError> {
        let (offer, mac) = proof[PREAMBLE_LEN..].split_at(OFFER_LEN);
        let expected = initiator_mac(&self.token, hello, &self.nonce, offer);
        expected.verify_slice(mac).map_err(|_| HandshakeError::Token)?;
        Ok(Step::Done(Proven {
            peer: EndpointId(u64_at(hello, 8)),
            offer: Offer { rail: offer[0], stream: offer[1], grant: u64_at(offer, 8) },
        }))
    }
}
