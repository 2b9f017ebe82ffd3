//! The messages of a handshake: their layout, and the proofs in them.

use fishplate_engine::wire::VERSION;
use ring::hmac;

use super::error::{HandshakeError, Refusal};
use super::party::Term;
use crate::address::{MAX_RAIL_ADDRESSES, MAX_RAILS};
use crate::encryption::SHARE_LEN;
use crate::secret::TokenKey;

const MAGIC: [u8; 4] = *b"FiPl";
pub(super) const PREAMBLE_LEN: usize = 8;
pub(super) const PROOF_OF_TOKEN_LEN: usize = 32;
pub(super) const NONCE_LEN: usize = 16;
/// Where the nonce, and behind it the share, begins in a HELLO.
pub(super) const HELLO_NONCE_AT: usize = PREAMBLE_LEN + 8 + 8;
/// Where the terms are in a HELLO; what follows them is 0.
pub(super) const HELLO_TERMS_AT: usize = HELLO_NONCE_AT + NONCE_LEN + SHARE_LEN;
pub(super) const HELLO_LEN: usize = HELLO_TERMS_AT + 8;
/// Nonce and share of the acceptor.
pub(super) const FRESH_LEN: usize = NONCE_LEN + SHARE_LEN;
/// Its second proof is of the initiator's token; zeros if the acceptor does not know that.
pub(super) const CHALLENGE_LEN: usize = PREAMBLE_LEN + FRESH_LEN + 2 * PROOF_OF_TOKEN_LEN;
pub(super) const OFFER_LEN: usize = 16;
/// Identifies the initiator to an acceptor that does not know its token.
pub(super) const ALIAS_LEN: usize = 32;
/// Its proofs are of the acceptor's token and of the initiator's own.
pub(super) const PROOF_LEN: usize = PREAMBLE_LEN + OFFER_LEN + ALIAS_LEN + 2 * PROOF_OF_TOKEN_LEN;
pub(super) const GRANT_LEN: usize = 8;
pub(super) const ACCEPT_LEN: usize = PREAMBLE_LEN + GRANT_LEN + PROOF_OF_TOKEN_LEN;
pub(super) const PROVEN_REFUSE_LEN: usize = PREAMBLE_LEN + PROOF_OF_TOKEN_LEN;

/// Longest message of a handshake, in bytes: no more is ever buffered for an unproven peer.
pub const MAX_MESSAGE_LEN: usize = PROOF_LEN;

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
    pub const PROVEN_REFUSE: u8 = 7;
}

/// A number used once.
pub type Nonce = [u8; NONCE_LEN];

/// The initiator's parameters of the subchannel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its rail, in its own numbering.
    pub rail: u8,
    /// Number of the rail's stream.
    pub stream: u8,
    /// Preference of the way: a number of [`Class`](crate::discover::Class).
    pub class: u8,
    /// Bytes of unexpected messages that it grants.
    pub grant: u64,
}

/// A refusal without proof.
pub fn refuse(refusal: Refusal) -> Vec<u8> {
    preamble(kind::REFUSE, code(refusal)).to_vec()
}

/// A refusal with a proof that it comes from the endpoint that `hello` was for.
pub(super) fn refuse_proven(key: &TokenKey, hello: &[u8; HELLO_LEN], refusal: Refusal) -> Vec<u8> {
    let said = preamble(kind::PROVEN_REFUSE, code(refusal));
    [said.as_slice(), prove(key, purpose::REFUSAL, &[hello, &said]).as_ref()].concat()
}

/// Verifies and decodes a refusal with proof.
pub(super) fn read_proven_refusal(
    key: &TokenKey,
    hello: &[u8; HELLO_LEN],
    message: &[u8; PROVEN_REFUSE_LEN],
) -> Result<Refusal, HandshakeError> {
    let (said, proof) = message.split_at(PREAMBLE_LEN);
    verify(key, purpose::REFUSAL, &[hello, said], proof)?;
    refusal(said[7], VERSION).ok_or(HandshakeError::NotFishplate)
}

/// Refusals and their codes.
const CODES: [(u8, Refusal); 13] = [
    (2, Refusal::NotMe),
    (3, Refusal::Token),
    (4, Refusal::Yield),
    (5, Refusal::Closed),
    (6, Refusal::Differs(Term::Encryption, false)),
    (7, Refusal::Differs(Term::Encryption, true)),
    (8, Refusal::Detour),
    (9, Refusal::Files),
    (10, Refusal::Differs(Term::Secret, false)),
    (11, Refusal::Differs(Term::Secret, true)),
    (12, Refusal::Crowded),
    (13, Refusal::Differs(Term::Checksum, false)),
    (14, Refusal::Differs(Term::Checksum, true)),
];
/// The code of [`Refusal::Version`].
const CODE_VERSION: u8 = 1;

pub(super) fn code(refusal: Refusal) -> u8 {
    CODES.iter().find(|(_, known)| *known == refusal).map_or(CODE_VERSION, |(code, _)| *code)
}

/// The refusal with this code, from a side with this version.
fn refusal(code: u8, version: u16) -> Option<Refusal> {
    let known = CODES.iter().find(|(known, _)| *known == code).map(|(_, refusal)| *refusal);
    known.or((code == CODE_VERSION).then_some(Refusal::Version(version)))
}

/// Magic, version, kind and code. Its layout is fixed for all versions of the wire format, so that a mismatch can be reported.
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
        (kind::REFUSE, code) => {
            Err(refusal(code, version).map_or(HandshakeError::NotFishplate, HandshakeError::Hinted))
        }
        _ if version != VERSION => Err(HandshakeError::Version(version)),
        // The proof covers its code.
        (kind::PROVEN_REFUSE, _) => Ok(Some(kind)),
        // No proof covers the code of other messages: it must be 0, or an attacker on the path could change it.
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

/// Purposes of proofs: each proof covers its purpose, so that none can be used for another.
pub(super) mod purpose {
    pub const ACCEPTOR: &[u8] = b"fishplate acceptor";
    pub const INITIATOR: &[u8] = b"fishplate initiator";
    pub const GRANT: &[u8] = b"fishplate grant";
    pub const ADDRESSES: &[u8] = b"fishplate addresses";
    pub const REFUSAL: &[u8] = b"fishplate refusal";
    pub const ACQUAINTED: &[u8] = b"fishplate acquainted";
    pub const IDENTITY: &[u8] = b"fishplate identity";
    pub const ALIAS: &[u8] = b"fishplate alias";
    pub const ALIAS_MASK: &[u8] = b"fishplate alias mask";
}

/// Proves knowledge of the token. All `parts` have fixed lengths, or begin with their length, so that their concatenation is
/// unambiguous.
pub(super) fn prove(token: &TokenKey, purpose: &[u8], parts: &[&[u8]]) -> hmac::Tag {
    #[cfg(test)]
    let covered = super::planted::covered(purpose, parts);
    #[cfg(test)]
    let (purpose, parts) = (covered.0, &covered.1[..]);
    let mut context = hmac::Context::with_key(&key(token));
    context.update(purpose);
    parts.iter().for_each(|part| context.update(part));
    context.sign()
}

/// Verifies a proof, in constant time.
pub(super) fn verify(token: &TokenKey, purpose: &[u8], parts: &[&[u8]], proof: &[u8]) -> Result<(), HandshakeError> {
    #[cfg(test)]
    if super::planted::is_unchecked(purpose) {
        return Ok(());
    }
    #[cfg(test)]
    let covered = super::planted::covered(purpose, parts);
    #[cfg(test)]
    let (purpose, parts) = (covered.0, &covered.1[..]);
    let said = [&[purpose], parts].concat().concat();
    hmac::verify(&key(token), &said, proof).map_err(|_| HandshakeError::Token)
}

fn key(token: &TokenKey) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token.bytes())
}
