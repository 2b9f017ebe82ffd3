//! Values that both sides derive from the messages of a handshake.

use super::error::HandshakeError;
use super::message::{ALIAS_LEN, FRESH_LEN, NONCE_LEN, Nonce, prove, purpose};
use super::party::Term;
use crate::encryption::{Ephemeral, Keys, NO_SHARE, Share, Side};
use crate::secret::TokenKey;

/// Masks an alias, or unmasks a masked one.
pub(super) fn mask(key: &TokenKey, said: [&[u8]; 2], alias: &[u8]) -> [u8; ALIAS_LEN] {
    let mask = prove(key, purpose::ALIAS_MASK, &said);
    let mut masked = [0; ALIAS_LEN];
    let pairs = alias.iter().zip(mask.as_ref());
    masked.iter_mut().zip(pairs).for_each(|(masked, (alias, mask))| *masked = alias ^ mask);
    masked
}

pub(super) fn ephemeral(encryption: bool) -> Result<Option<Ephemeral>, HandshakeError> {
    match encryption {
        true => Ephemeral::generate().map(Some).ok_or(HandshakeError::NoRandom),
        false => Ok(None),
    }
}

/// Nonce and share of one side, which are new with every connection.
pub(super) fn fresh(nonce: &Nonce, ephemeral: Option<&Ephemeral>) -> [u8; FRESH_LEN] {
    let mut fresh = [0; FRESH_LEN];
    fresh[..NONCE_LEN].copy_from_slice(nonce);
    let share = ephemeral.map_or(&NO_SHARE, |ephemeral| ephemeral.share());
    fresh[NONCE_LEN..].copy_from_slice(share);
    fresh
}

pub(super) fn share_of(fresh: &[u8; FRESH_LEN]) -> Share {
    let (_, share) = fresh.split_at(NONCE_LEN);
    share.first_chunk().copied().unwrap_or(NO_SHARE)
}

/// Checks that both sides encrypt, or neither.
pub(super) fn check_encryption(here: bool, theirs: &Share) -> Result<(), HandshakeError> {
    let there = *theirs != NO_SHARE;
    if here == there { Ok(()) } else { Err(HandshakeError::Differs(Term::Encryption, there)) }
}

/// The keys of one side, if it encrypts.
pub(super) fn keys(
    ephemeral: Option<Ephemeral>,
    side: Side,
    theirs: &Share,
    token: &TokenKey,
    transcript: [&[u8]; 2],
) -> Result<Option<Box<Keys>>, HandshakeError> {
    let Some(ephemeral) = ephemeral else { return Ok(None) };
    // An invalid share violates the protocol.
    ephemeral.agree(side, theirs, token, transcript).map(Box::new).map(Some).ok_or(HandshakeError::NotFishplate)
}

/// The first `N` bytes, and the rest. `bytes` are of a message whose length has been checked.
pub(super) fn halves<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    let (first, rest) = bytes.split_at(N);
    let mut half = [0; N];
    half.copy_from_slice(first);
    (half, rest)
}
