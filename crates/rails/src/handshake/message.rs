//! The messages of a handshake: their layout, and the proofs in them.

use fishplate_engine::wire::VERSION;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::{HandshakeError, Refusal};
use crate::address::Token;

const MAGIC: [u8; 4] = *b"FiPl";
pub(super) const PREAMBLE_LEN: usize = 8;
pub(super) const HELLO_LEN: usize = PREAMBLE_LEN + 8 + 8 + 16;
pub(super) const CHALLENGE_LEN: usize = PREAMBLE_LEN + 16 + 32;
pub(super) const OFFER_LEN: usize = 16;
pub(super) const PROOF_LEN: usize = PREAMBLE_LEN + OFFER_LEN + 32;
pub(super) const ACCEPT_LEN: usize = PREAMBLE_LEN + 8;

/// Longest message of a handshake, in bytes: more are never kept of an unproven peer.
pub const MAX_MESSAGE_LEN: usize = CHALLENGE_LEN;

pub(super) mod kind {
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

/// Magic, version, kind and code: the same in every version of the wire format, so that a mismatch can be told.
pub(super) fn preamble(kind: u8, code: u8) -> [u8; PREAMBLE_LEN] {
    let version = VERSION.to_le_bytes();
    [MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], version[0], version[1], kind, code]
}

/// The kind of the message at the front; `None` while its preamble is not whole.
pub(super) fn check_preamble(received: &[u8]) -> Result<Option<u8>, HandshakeError> {
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
        // Not under any proof: whatever is not fixed there could be changed on the way.
        _ if code != 0 => Err(HandshakeError::NotFishplate),
        _ => Ok(Some(kind)),
    }
}

pub(super) fn take<const N: usize>(received: &mut Vec<u8>) -> Option<[u8; N]> {
    let message = *received.first_chunk::<N>()?;
    received.drain(..N);
    Some(message)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

pub(super) fn acceptor_mac(token: &Token, hello: &[u8], nonce: &[u8]) -> Hmac<Sha256> {
    keyed(token, &[b"fishplate acceptor", hello, nonce])
}

pub(super) fn initiator_mac(token: &Token, hello: &[u8], nonce: &[u8], offer: &[u8]) -> Hmac<Sha256> {
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
