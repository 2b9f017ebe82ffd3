//! One side of a handshake, and the settings that both sides must share.

use crate::address::{EndpointId, Token};
use crate::secret::{Secret, TokenKey};

/// An endpoint as a side of its handshakes.
#[derive(Clone, Debug)]
pub struct Party {
    /// Its name.
    pub id: EndpointId,
    /// Its token.
    pub token: Token,
    /// Settings that must be equal on both sides.
    pub terms: Terms,
}

impl Party {
    /// The key of proofs of a token, this side's or the other's.
    pub(super) fn key(&self, token: &Token) -> TokenKey {
        TokenKey::of(token, self.terms.secret.as_ref())
    }
}

/// The settings that must be equal at both ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Whether the connection is encrypted.
    pub encryption: bool,
    /// Whether frames have checksums.
    pub checksum: bool,
    /// The secret that proofs need beside tokens.
    pub secret: Option<Secret>,
}

/// One of these settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// `FISHPLATE_ENCRYPTION`.
    Encryption,
    /// `FISHPLATE_SECRET_FILE`.
    Secret,
    /// `FISHPLATE_CHECKSUM`.
    Checksum,
}

impl Term {
    /// All terms, in the order of their bits in HELLO.
    const ALL: [Term; 3] = [Term::Encryption, Term::Secret, Term::Checksum];

    /// The name of the setting, and its values for a side with it and for one without.
    pub(super) fn describe(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Term::Encryption => ("FISHPLATE_ENCRYPTION", ["off", "on"]),
            Term::Secret => ("FISHPLATE_SECRET_FILE", ["not set", "set"]),
            Term::Checksum => ("FISHPLATE_CHECKSUM", ["off", "on"]),
        }
    }
}

impl Terms {
    fn has(&self, term: Term) -> bool {
        match term {
            Term::Encryption => self.encryption,
            Term::Secret => self.secret.is_some(),
            Term::Checksum => self.checksum,
        }
    }

    /// Their bits in HELLO.
    pub(super) fn encode(&self) -> u8 {
        Term::ALL.iter().enumerate().map(|(bit, term)| u8::from(self.has(*term)) << bit).sum()
    }

    /// The first term that differs from the other side's bits `theirs`, and whether the other side has it.
    pub(super) fn difference(&self, theirs: u8) -> Option<(Term, bool)> {
        let there = |bit: usize| theirs >> bit & 1 == 1;
        let mut all = Term::ALL.iter().enumerate();
        all.find_map(|(bit, term)| (there(bit) != self.has(*term)).then_some((*term, there(bit))))
    }
}
