//! Key exchange of one connection: Diffie-Hellman with ephemeral keys (forward secrecy), so that an attacker who learns the token
//! later cannot decrypt recorded traffic.

use std::fmt;

use ring::aead::{AES_256_GCM, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::rand::SystemRandom;

use super::Keys;
use super::record::{Opening, Sealing};
use crate::secret::TokenKey;

/// Length of a share, in bytes.
pub const SHARE_LEN: usize = 32;

/// The public half of a key that is made for one connection.
pub type Share = [u8; SHARE_LEN];

/// In the place of a share: this side does not encrypt. No key has this share.
pub const NO_SHARE: Share = [0; SHARE_LEN];

/// The two sides of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that connects.
    Initiator,
    /// The one that was connected to.
    Acceptor,
}

/// A key that is made for one connection.
pub struct Ephemeral {
    private: EphemeralPrivateKey,
    share: Share,
}

impl fmt::Debug for Ephemeral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ephemeral(secret)")
    }
}

impl Ephemeral {
    /// A new key; `None`: the kernel gives no random numbers.
    pub fn generate() -> Option<Ephemeral> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).ok()?;
        let public = private.compute_public_key().ok()?;
        let share = public.as_ref().try_into().ok()?;
        Some(Ephemeral { private, share })
    }

    /// The public half, for the other side.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// The keys of `side`, from the other side's share `theirs`. They also depend on the `transcript` of the handshake so far, whose
    /// parts have fixed lengths, and on the acceptor's token. `None`: `theirs` is no valid share.
    pub fn agree(self, side: Side, theirs: &Share, token: &TokenKey, transcript: [&[u8]; 2]) -> Option<Keys> {
        let theirs = UnparsedPublicKey::new(&X25519, theirs);
        let salt = Salt::new(HKDF_SHA256, token.bytes());
        let secret = agree_ephemeral(self.private, &theirs, |shared| salt.extract(shared)).ok()?;
        let key = |from: Side| direction(&secret, from, transcript);
        let other = if side == Side::Initiator { Side::Acceptor } else { Side::Initiator };
        Some(Keys { sealing: Sealing::new(key(side)?), opening: Opening::new(key(other)?) })
    }
}

/// The key of the direction in which `from` sends.
fn direction(secret: &Prk, from: Side, [hello, challenge]: [&[u8]; 2]) -> Option<UnboundKey> {
    let label: &[u8] = match from {
        Side::Initiator => b"fishplate records of the initiator",
        Side::Acceptor => b"fishplate records of the acceptor",
    };
    secret.expand(&[label, hello, challenge], &AES_256_GCM).ok().map(UnboundKey::from)
}
