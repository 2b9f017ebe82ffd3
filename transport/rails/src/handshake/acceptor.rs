//! The side that was connected to.

use super::Step;
use super::error::{HandshakeError, Refusal};
use super::message::{
    ALIAS_LEN, FRESH_LEN, HELLO_LEN, HELLO_NONCE_AT, HELLO_TERMS_AT, Nonce, OFFER_LEN, Offer, PREAMBLE_LEN, PROOF_LEN,
    PROOF_OF_TOKEN_LEN, check_preamble, kind, preamble, prove, purpose, refuse, refuse_proven, take, u64_at, verify,
};
use super::party::{Party, Term};
use super::transcript::{check_encryption, ephemeral, fresh, halves, keys, mask, share_of};
use crate::address::{EndpointId, Token};
use crate::encryption::{Ephemeral, Keys, Side};
use crate::secret::{Secret, TokenKey};

/// The side that was connected to.
#[derive(Debug)]
pub struct Acceptor {
    me: Party,
    key: TokenKey,
    nonce: Nonce,
    /// The HELLO, if it names this endpoint.
    hello: Option<[u8; HELLO_LEN]>,
    /// State from the challenge on.
    session: Option<Session>,
    keys: Option<Box<Keys>>,
}

#[derive(Debug)]
struct Session {
    hello: [u8; HELLO_LEN],
    /// Nonce and share of this side.
    fresh: [u8; FRESH_LEN],
    /// With encryption, until there are keys.
    ephemeral: Option<Ephemeral>,
}

/// An initiator that has proven knowledge of the acceptor's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Its claimed id.
    pub peer: EndpointId,
    /// The initiator's offer.
    pub offer: Offer,
    /// Identifies it while its token is not known; zeros where it is.
    pub alias: [u8; ALIAS_LEN],
    /// Its proof of identity, which can be verified with its token.
    pub identity: Identity,
}

/// An initiator's proof of identity, to be verified once its token is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    covered: Box<[u8]>,
    proof: [u8; PROOF_OF_TOKEN_LEN],
}

impl Identity {
    /// Whether it is valid for the endpoint with this token.
    pub fn is_of(&self, token: &Token, secret: Option<&Secret>) -> bool {
        let (hello, rest) = self.covered.split_at(HELLO_LEN);
        let (fresh, offer) = rest.split_at(FRESH_LEN);
        verify(&TokenKey::of(token, secret), purpose::IDENTITY, &[hello, fresh, offer], &self.proof).is_ok()
    }
}

impl Acceptor {
    /// An acceptor before the initiator's hello.
    pub fn new(me: Party, nonce: Nonce) -> Self {
        let key = me.key(&me.token);
        Acceptor { me, key, nonce, hello: None, session: None, keys: None }
    }

    /// Whether the initiator's HELLO names this endpoint.
    pub fn is_named(&self) -> bool {
        self.session.is_some()
    }

    /// Takes whole messages from the front of `received`. `token` returns the token of an endpoint, if it is known. On an error, send
    /// [`Acceptor::refuse`] with it.
    pub fn advance(
        &mut self,
        received: &mut Vec<u8>,
        token: impl Fn(EndpointId) -> Option<Token>,
    ) -> Result<Step<Proven>, HandshakeError> {
        let Some(kind) = check_preamble(received).map_err(HandshakeError::of_initiator)? else { return Ok(Step::Wait) };
        match (kind, &self.session) {
            (kind::HELLO, None) => take(received).map_or(Ok(Step::Wait), |hello| self.challenge(hello, token)),
            (kind::PROOF, Some(_)) => take(received).map_or(Ok(Step::Wait), |proof| self.check(&proof)),
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    /// The last message, a refusal. It has a proof where the initiator can verify one: not if it speaks another version, means another
    /// endpoint, or has another secret.
    pub fn refuse(&self, refusal: Refusal) -> Vec<u8> {
        match (&self.hello, refusal) {
            (None, _) | (_, Refusal::Differs(Term::Secret, _)) => refuse(refusal),
            (Some(hello), _) => refuse_proven(&self.key, hello, refusal),
        }
    }

    /// A refusal before the HELLO is answered; `received` may have it.
    pub fn refuse_unheard(mut self, received: &[u8], refusal: Refusal) -> Vec<u8> {
        if matches!(check_preamble(received), Ok(Some(kind::HELLO))) {
            self.hello = received.first_chunk().copied().filter(|hello| self.is_meant(hello));
        }
        self.refuse(refusal)
    }

    /// The last message to a proven initiator, with its grant in bytes.
    pub fn accept(&self, grant: u64) -> Vec<u8> {
        self.last_message(kind::ACCEPT, purpose::GRANT, &grant.to_le_bytes())
    }

    /// The last message to a proven initiator that has asked for the addresses of this endpoint.
    pub fn tell(&self, addresses: &[u8]) -> Vec<u8> {
        let list = [&(addresses.len() as u16).to_le_bytes(), addresses].concat();
        self.last_message(kind::ADDRESSES, purpose::ADDRESSES, &list)
    }

    /// A last message of `kind` with `body` and a proof for `purpose`.
    fn last_message(&self, kind: u8, purpose: &[u8], body: &[u8]) -> Vec<u8> {
        let [hello, fresh] = self.session.as_ref().map_or([&[][..]; 2], |session| [&session.hello, &session.fresh]);
        let own = prove(&self.key, purpose, &[hello, fresh, body]);
        [preamble(kind, 0).as_slice(), body, own.as_ref()].concat()
    }

    /// The keys of a connection whose peer is proven; `None`: it is not encrypted.
    pub fn take_keys(&mut self) -> Option<Box<Keys>> {
        self.keys.take()
    }

    fn is_meant(&self, hello: &[u8; HELLO_LEN]) -> bool {
        u64_at(hello, 16) == self.me.id.0
    }

    fn challenge(
        &mut self,
        hello: [u8; HELLO_LEN],
        token: impl Fn(EndpointId) -> Option<Token>,
    ) -> Result<Step<Proven>, HandshakeError> {
        if !self.is_meant(&hello) {
            return Err(HandshakeError::NotMe);
        }
        self.hello = Some(hello);
        if let Some((term, theirs)) = self.me.terms.difference(hello[HELLO_TERMS_AT]) {
            return Err(HandshakeError::Differs(term, theirs));
        }
        let (theirs, _) = halves::<FRESH_LEN>(&hello[HELLO_NONCE_AT..]);
        check_encryption(self.me.terms.encryption, &share_of(&theirs))?;
        let ephemeral = ephemeral(self.me.terms.encryption)?;
        let fresh = fresh(&self.nonce, ephemeral.as_ref());
        let own = prove(&self.key, purpose::ACCEPTOR, &[&hello, &fresh]);
        let mut acquaintance = [0; PROOF_OF_TOKEN_LEN];
        if let Some(token) = token(initiator_of(&hello)) {
            let proof = prove(&self.me.key(&token), purpose::ACQUAINTED, &[&hello, &fresh]);
            acquaintance.copy_from_slice(proof.as_ref());
        }
        self.session = Some(Session { hello, fresh, ephemeral });
        Ok(Step::Send([preamble(kind::CHALLENGE, 0).as_slice(), &fresh, own.as_ref(), &acquaintance].concat()))
    }

    fn check(&mut self, message: &[u8; PROOF_LEN]) -> Result<Step<Proven>, HandshakeError> {
        let Some(Session { hello, fresh, ephemeral }) = &mut self.session else {
            return Err(HandshakeError::NotFishplate);
        };
        let (offer, rest) = halves::<OFFER_LEN>(&message[PREAMBLE_LEN..]);
        let (masked, proofs) = halves::<ALIAS_LEN>(rest);
        let (identity, proof) = halves(proofs);
        verify(&self.key, purpose::INITIATOR, &[hello, fresh, &offer, &masked, &identity], proof)?;
        let (theirs, _) = halves::<FRESH_LEN>(&hello[HELLO_NONCE_AT..]);
        self.keys = keys(ephemeral.take(), Side::Acceptor, &share_of(&theirs), &self.key, [hello, fresh])?;
        let has_alias = masked != [0; ALIAS_LEN];
        Ok(Step::Done(Proven {
            peer: initiator_of(hello),
            offer: Offer { rail: offer[0], stream: offer[1], class: offer[2], grant: u64_at(&offer, 8) },
            alias: if has_alias { mask(&self.key, [hello, fresh], &masked) } else { masked },
            identity: Identity { covered: [&hello[..], fresh, &offer].concat().into(), proof: identity },
        }))
    }
}

fn initiator_of(hello: &[u8; HELLO_LEN]) -> EndpointId {
    EndpointId(u64_at(hello, 8))
}
