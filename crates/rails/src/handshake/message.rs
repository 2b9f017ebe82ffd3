//! The messages of a handshake: their layout, and the proofs in them.

use fishplate_engine::wire::VERSION;
use ring::hmac;

use super::error::{HandshakeError, Refusal};
use crate::address::{MAX_RAIL_ADDRESSES, MAX_RAILS, Token};
use crate::encryption::SHARE_LEN;

const MAGIC: [u8; 4] = *b"FiPl";
pub(super) const PREAMBLE_LEN: usize = 8;
pub(super) const PROOF_OF_TOKEN_LEN: usize = 32;
pub(super) const NONCE_LEN: usize = 16;
/// Where the nonce, and behind it the share, begins in a HELLO.
pub(super) const HELLO_NONCE_AT: usize = PREAMBLE_LEN + 8 + 8;
pub(super) const HELLO_LEN: usize = HELLO_NONCE_AT + NONCE_LEN + SHARE_LEN;
/// Nonce and share of the acceptor.
pub(super) const FRESH_LEN: usize = NONCE_LEN + SHARE_LEN;
pub(super) const CHALLENGE_LEN: usize = PREAMBLE_LEN + FRESH_LEN + PROOF_OF_TOKEN_LEN;
pub(super) const OFFER_LEN: usize = 16;
pub(super) const PROOF_LEN: usize = PREAMBLE_LEN + OFFER_LEN + PROOF_OF_TOKEN_LEN;
pub(super) const GRANT_LEN: usize = 8;
pub(super) const ACCEPT_LEN: usize = PREAMBLE_LEN + GRANT_LEN + PROOF_OF_TOKEN_LEN;

/// Longest message of a handshake, in bytes: more are never kept of an unproven peer.
pub const MAX_MESSAGE_LEN: usize = CHALLENGE_LEN;

/// Longest list of addresses, in bytes: each with a byte ahead.
pub(super) const MAX_LIST_LEN: usize = MAX_RAILS * MAX_RAIL_ADDRESSES * (1 + 16);
/// The length of a list of addresses.
pub(super) const LIST_HEAD_LEN: usize = 2;

/// Longest answer to an initiator, in bytes.
pub const MAX_ANSWER_LEN: usize = PREAMBLE_LEN + LIST_HEAD_LEN + MAX_LIST_LEN + PROOF_OF_TOKEN_LEN;

pub(super) mod kind {
    pub const HELLO: u8 = 1;
    pub const CHALLENGE: u8 = 2;
    pub const PROOF: u8 = 3;
    pub const ACCEPT: u8 = 4;
    pub const REFUSE: u8 = 5;
    pub const ADDRESSES: u8 = 6;
}

/// A number used once.
pub type Nonce = [u8; NONCE_LEN];

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

/// The message that ends a handshake without success.
pub fn refuse(refusal: Refusal) -> Vec<u8> {
    let code = match refusal {
        Refusal::Version(_) => 1,
        Refusal::NotMe => 2,
        Refusal::Token => 3,
        Refusal::Yield => 4,
        Refusal::Closed => 5,
        Refusal::Encryption(false) => 6,
        Refusal::Encryption(true) => 7,
        Refusal::Detour => 8,
        Refusal::Files => 9,
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
        (kind::REFUSE, 6) => Err(HandshakeError::Refused(Refusal::Encryption(false))),
        (kind::REFUSE, 7) => Err(HandshakeError::Refused(Refusal::Encryption(true))),
        (kind::REFUSE, 8) => Err(HandshakeError::Refused(Refusal::Detour)),
        (kind::REFUSE, 9) => Err(HandshakeError::Refused(Refusal::Files)),
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

/// What a proof is for, so that none passes for another.
pub(super) mod purpose {
    pub const ACCEPTOR: &[u8] = b"fishplate acceptor";
    pub const INITIATOR: &[u8] = b"fishplate initiator";
    pub const GRANT: &[u8] = b"fishplate grant";
    pub const ADDRESSES: &[u8] = b"fishplate addresses";
}

/// Proves knowledge of the token. All `parts` have fixed lengths, or begin with them, so that their concatenation is
/// unambiguous.
pub(super) fn prove(token: &Token, purpose: &[u8], parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(&key(token));
    context.update(purpose);
    parts.iter().for_each(|part| context.update(part));
    context.sign()
}

/// Whether `proof` is that of one who knows the token. The time that this takes does not depend on where it is wrong.
pub(super) fn verify(token: &Token, purpose: &[u8], parts: &[&[u8]], proof: &[u8]) -> Result<(), HandshakeError> {
    let said = [&[purpose], parts].concat().concat();
    hmac::verify(&key(token), &said, proof).map_err(|_| HandshakeError::Token)
}

fn key(token: &Token) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &token.0)
}
