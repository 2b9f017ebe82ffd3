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
    /// What the initiator has said first, if it means this endpoint.
    hello: Option<[u8; HELLO_LEN]>,
    /// What was said until the challenge.
    said: Option<Said>,
    keys: Option<Box<Keys>>,
}

#[derive(Debug)]
struct Said {
    hello: [u8; HELLO_LEN],
    /// Nonce and share of this side.
    fresh: [u8; FRESH_LEN],
    /// With encryption, until there are keys.
    ephemeral: Option<Ephemeral>,
}

/// An initiator that has proven to know the acceptor's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Who it says it is.
    pub peer: EndpointId,
    /// What it offers.
    pub offer: Offer,
    /// What it is known by as long as its token is not; zeros where it is.
    pub alias: [u8; ALIAS_LEN],
    /// Whether it is who it says, for those who know the token of that.
    pub identity: Identity,
}

/// What an initiator has shown of itself: to be looked at as soon as its token is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    said: Box<[u8]>,
    proof: [u8; PROOF_OF_TOKEN_LEN],
}

impl Identity {
    /// Whether it is that of the endpoint with this token.
    pub fn is_of(&self, token: &Token, secret: Option<&Secret>) -> bool {
        let (hello, rest) = self.said.split_at(HELLO_LEN);
        let (fresh, offer) = rest.split_at(FRESH_LEN);
        verify(&TokenKey::of(token, secret), purpose::IDENTITY, &[hello, fresh, offer], &self.proof).is_ok()
    }
}

impl Acceptor {
    /// Waits for a handshake.
    pub fn new(me: Party, nonce: Nonce) -> Self {
        let key = me.key(&me.token);
        Acceptor { me, key, nonce, hello: None, said: None, keys: None }
    }

    /// Whether the initiator has said that it means this endpoint.
    pub fn is_named(&self) -> bool {
        self.said.is_some()
    }

    /// Takes whole messages from the front of `received`; `token` of an endpoint, as far as they are known. On an error,
    /// send [`Acceptor::refuse`] with it.
    pub fn advance(
        &mut self,
        received: &mut Vec<u8>,
        token: impl Fn(EndpointId) -> Option<Token>,
    ) -> Result<Step<Proven>, HandshakeError> {
        let Some(kind) = check_preamble(received).map_err(HandshakeError::of_initiator)? else { return Ok(Step::Wait) };
        match (kind, &self.said) {
            (kind::HELLO, None) => match take::<HELLO_LEN>(received) {
                Some(hello) => self.challenge(hello, token),
                None => Ok(Step::Wait),
            },
            (kind::PROOF, Some(_)) => match take::<PROOF_LEN>(received) {
                Some(proof) => self.check(&proof),
                None => Ok(Step::Wait),
            },
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    /// The last message, to one that gets no further. It is proven where the initiator can believe it: who speaks
    /// another version, means another endpoint, or has another secret, cannot.
    pub fn refuse(&self, refusal: Refusal) -> Vec<u8> {
        match (&self.hello, refusal) {
            (None, _) | (_, Refusal::Differs(Term::Secret, _)) => refuse(refusal),
            (Some(hello), _) => refuse_proven(&self.key, hello, refusal),
        }
    }

    /// The same to one whose first message, as far as it is there, is not answered.
    pub fn refuse_unheard(mut self, received: &[u8], refusal: Refusal) -> Vec<u8> {
        if matches!(check_preamble(received), Ok(Some(kind::HELLO))) {
            self.hello = received.first_chunk().copied().filter(|hello| self.is_meant(hello));
        }
        self.refuse(refusal)
    }

    /// The last message, to one that is proven: it is granted so many bytes.
    pub fn accept(&self, grant: u64) -> Vec<u8> {
        self.last_message(kind::ACCEPT, purpose::GRANT, &grant.to_le_bytes())
    }

    /// The last message, to one that is proven and has asked for the addresses of this endpoint.
    pub fn tell(&self, addresses: &[u8]) -> Vec<u8> {
        let list = [&(addresses.len() as u16).to_le_bytes(), addresses].concat();
        self.last_message(kind::ADDRESSES, purpose::ADDRESSES, &list)
    }

    /// A message of this kind with a proof for this purpose.
    fn last_message(&self, kind: u8, purpose: &[u8], body: &[u8]) -> Vec<u8> {
        let [hello, fresh] = self.said.as_ref().map_or([&[][..]; 2], |said| [&said.hello, &said.fresh]);
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
        self.said = Some(Said { hello, fresh, ephemeral });
        Ok(Step::Send([preamble(kind::CHALLENGE, 0).as_slice(), &fresh, own.as_ref(), &acquaintance].concat()))
    }

    fn check(&mut self, message: &[u8; PROOF_LEN]) -> Result<Step<Proven>, HandshakeError> {
        let Some(Said { hello, fresh, ephemeral }) = &mut self.said else { return Err(HandshakeError::NotFishplate) };
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
            identity: Identity { said: [&hello[..], fresh, &offer].concat().into(), proof: identity },
        }))
    }
}

fn initiator_of(hello: &[u8; HELLO_LEN]) -> EndpointId {
    EndpointId(u64_at(hello, 8))
}
