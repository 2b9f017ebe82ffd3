//! How both sides come to the keys of one connection: Diffie-Hellman with keys that are made for it and then forgotten,
//! so that whoever learns the token later still cannot read what he has recorded.

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

/// In the place of a share: that side does not encrypt. No key has this share.
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
    /// A new one; `None`: the kernel gives no random numbers.
    pub fn generate() -> Option<Ephemeral> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).ok()?;
        let public = private.compute_public_key().ok()?;
        let share = public.as_ref().try_into().ok()?;
        Some(Ephemeral { private, share })
    }

    /// What the other side must know of it.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// The keys of `side`, which has got the share `theirs`. They depend on all that both sides have said before
    /// (`transcript`, parts of fixed lengths), and on the acceptor's token. `None`: `theirs` is no share.
    pub fn agree(self, side: Side, theirs: &Share, token: &TokenKey, transcript: [&[u8]; 2]) -> Option<Keys> {
        let theirs = UnparsedPublicKey::new(&X25519, theirs);
        let salt = Salt::new(HKDF_SHA256, token.bytes());
        let secret = agree_ephemeral(self.private, &theirs, |shared| salt.extract(shared)).ok()?;
        let key = |from: Side| direction(&secret, from, transcript);
        let other = if side == Side::Initiator { Side::Acceptor } else { Side::Initiator };
        Some(Keys { sealing: Sealing::new(key(side)?), opening: Opening::new(key(other)?) })
    }
}

/// The key of what `from` sends.
fn direction(secret: &Prk, from: Side, [hello, challenge]: [&[u8]; 2]) -> Option<UnboundKey> {
    let label: &[u8] = match from {
        Side::Initiator => b"fishplate records of the initiator",
        Side::Acceptor => b"fishplate records of the acceptor",
    };
    secret.expand(&[label, hello, challenge], &AES_256_GCM).ok().map(UnboundKey::from)
}
