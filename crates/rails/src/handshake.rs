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

use std::fmt;

use fishplate_engine::wire::VERSION;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::address::{Address, EndpointId, Token};

const MAGIC: [u8; 4] = *b"FiPl";
const PREAMBLE_LEN: usize = 8;
const HELLO_LEN: usize = PREAMBLE_LEN + 8 + 8 + 16;
const CHALLENGE_LEN: usize = PREAMBLE_LEN + 16 + 32;
const OFFER_LEN: usize = 16;
const PROOF_LEN: usize = PREAMBLE_LEN + OFFER_LEN + 32;
const ACCEPT_LEN: usize = PREAMBLE_LEN + 8;

/// Longest message of a handshake, in bytes: more are never kept of an unproven peer.
pub const MAX_MESSAGE_LEN: usize = CHALLENGE_LEN;

mod kind {
    pub const HELLO: u8 = 1;
    pub const CHALLENGE: u8 = 2;
    pub const PROOF: u8 = 3;
    pub const ACCEPT: u8 = 4;
    pub const REFUSE: u8 = 5;
}

/// A number used once.
pub type Nonce = [u8; 16];

/// What the initiator says of the subchannel, once proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its rail, in its own numbering.
    pub rail: u8,
    /// Which of the rail's streams.
    pub stream: u8,
    /// Bytes of unexpected messages that it grants.
    pub grant: u64,
}

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The acceptor speaks another version of the wire format: its number.
    Version(u16),
    /// The acceptor is not the endpoint that was meant.
    NotMe,
    /// The initiator does not know the token.
    Token,
    /// Both sides connected at once, and the acceptor's own connection is the one to be kept.
    Yield,
    /// The acceptor has lost or closed its side of the virtual channel.
    Closed,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// What came is no Fishplate handshake.
    NotFishplate,
    /// The peer speaks another version of the wire format: its number.
    Version(u16),
    /// The peer refused.
    Refused(Refusal),
    /// The peer does not know the token that it should.
    Token,
    /// The peer takes us for another endpoint.
    NotMe,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandshakeError::NotFishplate => f.write_str("the other side does not speak Fishplate"),
            HandshakeError::Version(theirs) | HandshakeError::Refused(Refusal::Version(theirs)) => {
                write!(f, "the peer speaks version {theirs} of the wire format, this side version {VERSION}")
            }
            HandshakeError::Refused(Refusal::NotMe) => f.write_str("another endpoint answers at that address"),
            HandshakeError::NotMe => f.write_str("it is meant for another endpoint"),
            HandshakeError::Refused(Refusal::Token) => f.write_str("the peer says that this side's token is wrong"),
            HandshakeError::Refused(Refusal::Yield) => f.write_str("the peer prefers its own connection"),
            HandshakeError::Refused(Refusal::Closed) => f.write_str("the peer has closed its endpoint"),
            HandshakeError::Token => f.write_str("the peer does not know the token of the endpoint"),
        }
    }
}

impl std::error::Error for HandshakeError {}

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

/// The last message of the acceptor: it grants so many bytes.
pub fn accept(grant: u64) -> Vec<u8> {
    let mut accept = preamble(kind::ACCEPT, 0).to_vec();
    accept.extend_from_slice(&grant.to_le_bytes());
    accept
}

/// The message that ends a handshake without success.
pub fn refuse(refusal: Refusal) -> Vec<u8> {
    let code = match refusal {
        Refusal::Version(_) => 1,
        Refusal::NotMe => 2,
        Refusal::Token => 3,
        Refusal::Yield => 4,
        Refusal::Closed => 5,
    };
    preamble(kind::REFUSE, code).to_vec()
}

/// What to tell the peer about an error; nothing to one that does not speak this protocol.
pub fn refusal_for(error: &HandshakeError) -> Option<Refusal> {
    match error {
        HandshakeError::Version(_) => Some(Refusal::Version(VERSION)),
        HandshakeError::NotMe => Some(Refusal::NotMe),
        HandshakeError::Token => Some(Refusal::Token),
        HandshakeError::NotFishplate | HandshakeError::Refused(_) => None,
    }
}

/// Magic, version, kind and code: the same in every version of the wire format, so that a mismatch can be told.
fn preamble(kind: u8, code: u8) -> [u8; PREAMBLE_LEN] {
    let version = VERSION.to_le_bytes();
    [MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], version[0], version[1], kind, code]
}

/// The kind of the message at the front; `None` while its preamble is not whole.
fn check_preamble(received: &[u8]) -> Result<Option<u8>, HandshakeError> {
    let known = received.len().min(MAGIC.len());
    if received[..known] != MAGIC[..known] {
        return Err(HandshakeError::NotFishplate);
    }
    let Some(preamble) = received.first_chunk::<PREAMBLE_LEN>() else { return Ok(None) };
    let version = u16::from_le_bytes([preamble[4], preamble[5]]);
    let (kind, code) = (preamble[6], preamble[7]);
    match (kind, code) {
        (kind::REFUSE, 1) => Err(HandshakeError::Refused(Refusal::Version(version))),
        (kind::REFUSE, 2) => Err(HandshakeError::Refused(Refusal::NotMe)),
        (kind::REFUSE, 3) => Err(HandshakeError::Refused(Refusal::Token)),
        (kind::REFUSE, 4) => Err(HandshakeError::Refused(Refusal::Yield)),
        (kind::REFUSE, _) => Err(HandshakeError::Refused(Refusal::Closed)),
        _ if version != VERSION => Err(HandshakeError::Version(version)),
        _ => Ok(Some(kind)),
    }
}

fn take<const N: usize>(received: &mut Vec<u8>) -> Option<[u8; N]> {
    let message = *received.first_chunk::<N>()?;
    received.drain(..N);
    Some(message)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

fn acceptor_mac(token: &Token, hello: &[u8], nonce: &[u8]) -> Hmac<Sha256> {
    keyed(token, &[b"fishplate acceptor", hello, nonce])
}

fn initiator_mac(token: &Token, hello: &[u8], nonce: &[u8], offer: &[u8]) -> Hmac<Sha256> {
    keyed(token, &[b"fishplate initiator", hello, nonce, offer])
}

/// All parts have fixed lengths, so that their concatenation is unambiguous.
fn keyed(token: &Token, parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = match Hmac::<Sha256>::new_from_slice(&token.0) {
        Ok(mac) => mac,
        Err(_) => unreachable!("HMAC takes keys of any length"),
    };
    parts.iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer { rail: 3, stream: 1, grant: 1 << 22 };

    fn address(id: u64, token: u8) -> Address {
        Address { id: EndpointId(id), token: Token([token; 16]), port: 1, rails: Vec::new() }
    }

    /// Runs both sides; returns how each ended.
    fn run(
        initiator: &mut Initiator,
        hello: Vec<u8>,
        acceptor: &mut Acceptor,
    ) -> (Result<u64, HandshakeError>, Result<Proven, HandshakeError>) {
        let (mut to_acceptor, mut to_initiator) = (hello, Vec::new());
        let accepted = loop {
            match acceptor.advance(&mut to_acceptor) {
                Ok(Step::Send(bytes)) => to_initiator.extend(bytes),
                Ok(Step::Done(proven)) => {
                    to_initiator.extend(accept(77));
                    break Ok(proven);
                }
                Err(error) => {
                    to_initiator.extend(refusal_for(&error).map(refuse).unwrap_or_default());
                    break Err(error);
                }
                Ok(Step::Wait) => match initiator.advance(&mut to_initiator) {
                    Ok(Step::Send(bytes)) => to_acceptor.extend(bytes),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => return (Err(error), Err(HandshakeError::NotFishplate)),
                },
            }
        };
        let initiated = match initiator.advance(&mut to_initiator) {
            Ok(Step::Done(grant)) => Ok(grant),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        (initiated, accepted)
    }

    #[test]
    fn both_sides_are_proven() {
        let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
        let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
        let ends = run(&mut initiator, hello, &mut acceptor);
        assert_eq!(ends, (Ok(77), Ok(Proven { peer: EndpointId(5), offer: OFFER })));
    }

    #[test]
    fn an_acceptor_with_another_token_is_found_out() {
        let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
        let mut acceptor = Acceptor::new(EndpointId(9), Token([43; 16]), [2; 16]);
        assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Err(HandshakeError::Token));
    }

    #[test]
    fn an_initiator_without_the_token_is_found_out() {
        let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
        let (_, mut bytes) = Initiator::start(EndpointId(5), &address(9, 0), [1; 16], OFFER);
        assert!(matches!(acceptor.advance(&mut bytes), Ok(Step::Send(_))));
        let mut proof = preamble(kind::PROOF, 0).to_vec();
        proof.extend_from_slice(&[0; OFFER_LEN + 32]);
        assert_eq!(acceptor.advance(&mut proof), Err(HandshakeError::Token));
    }

    #[test]
    fn a_proof_does_not_fit_another_challenge() {
        let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
        let mut first = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
        let mut second = Acceptor::new(EndpointId(9), Token([42; 16]), [3; 16]);
        let Ok(Step::Send(mut challenge)) = first.advance(&mut hello.clone()) else { panic!() };
        assert!(matches!(second.advance(&mut hello.clone()), Ok(Step::Send(_))));
        let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge) else { panic!() };
        assert_eq!(second.advance(&mut proof), Err(HandshakeError::Token));
    }

    #[test]
    fn another_version_and_another_endpoint_are_told_apart() {
        let (mut initiator, mut hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
        let mut acceptor = Acceptor::new(EndpointId(8), Token([42; 16]), [2; 16]);
        let (initiated, accepted) = run(&mut initiator, hello.clone(), &mut acceptor);
        assert_eq!(initiated, Err(HandshakeError::Refused(Refusal::NotMe)));
        assert_eq!(accepted, Err(HandshakeError::NotMe));
        hello[4] = 99;
        let (_, accepted) = run(&mut initiator, hello, &mut acceptor);
        assert_eq!(accepted, Err(HandshakeError::Version(99)));
        let text = HandshakeError::Refused(Refusal::Version(99)).to_string();
        assert!(text.contains("99") && text.contains(&VERSION.to_string()), "{text}");
    }

    #[test]
    fn garbage_is_refused_at_its_first_byte() {
        let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
        assert_eq!(acceptor.advance(&mut b"G".to_vec()), Err(HandshakeError::NotFishplate));
        assert_eq!(acceptor.advance(&mut b"FiPl".to_vec()), Ok(Step::Wait));
        assert_eq!(acceptor.advance(&mut Vec::new()), Ok(Step::Wait));
    }
}
