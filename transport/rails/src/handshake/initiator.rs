//! The side that connects.

use super::Step;
use super::error::HandshakeError;
use super::message::{
    ACCEPT_LEN, ALIAS_LEN, CHALLENGE_LEN, FRESH_LEN, GRANT_LEN, HELLO_LEN, HELLO_NONCE_AT, HELLO_TERMS_AT,
    LIST_HEAD_LEN, MAX_LIST_LEN, Nonce, OFFER_LEN, Offer, PREAMBLE_LEN, PROOF_OF_TOKEN_LEN, check_preamble, kind,
    preamble, prove, purpose, read_proven_refusal, take, verify,
};
use super::party::Party;
use super::transcript::{check_encryption, ephemeral, fresh, halves, keys, mask, share_of};
use crate::address::Address;
use crate::encryption::{Ephemeral, Keys, Side};
use crate::link_name::ASKS;
use crate::secret::TokenKey;

/// The side that connects.
#[derive(Debug)]
pub struct Initiator {
    /// Keys for proofs of the acceptor's token, and of this side's.
    key: TokenKey,
    own: TokenKey,
    has_secret: bool,
    hello: [u8; HELLO_LEN],
    offer: Offer,
    /// The acceptor must prove that it knows this side's token.
    demands_acquaintance: bool,
    is_acquainted: bool,
    encrypts: bool,
    /// With encryption, until there are keys.
    ephemeral: Option<Ephemeral>,
    /// Nonce and share of the acceptor, once it has proven itself.
    fresh: Option<[u8; FRESH_LEN]>,
    keys: Option<Box<Keys>>,
    /// The acceptor's addresses, if they were asked for.
    addresses: Option<Vec<u8>>,
}

impl Initiator {
    /// Starts a handshake; the bytes are to be sent first. `demands_acquaintance`: an acceptor that has known this side's
    /// token before must know it again.
    pub fn start(
        me: &Party,
        peer: &Address,
        nonce: Nonce,
        offer: Offer,
        demands_acquaintance: bool,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let encrypts = me.terms.encryption;
        let ephemeral = ephemeral(encrypts)?;
        let mut hello = [0; HELLO_LEN];
        hello[..PREAMBLE_LEN].copy_from_slice(&preamble(kind::HELLO, 0));
        hello[8..16].copy_from_slice(&me.id.0.to_le_bytes());
        hello[16..24].copy_from_slice(&peer.id.0.to_le_bytes());
        hello[HELLO_NONCE_AT..HELLO_TERMS_AT].copy_from_slice(&fresh(&nonce, ephemeral.as_ref()));
        hello[HELLO_TERMS_AT] = me.terms.encode();
        let initiator = Initiator {
            key: me.key(&peer.token),
            own: me.key(&me.token),
            has_secret: me.terms.secret.is_some(),
            hello,
            offer,
            demands_acquaintance,
            is_acquainted: false,
            encrypts,
            ephemeral,
            fresh: None,
            keys: None,
            addresses: None,
        };
        Ok((initiator, hello.to_vec()))
    }

    /// Takes whole messages from the front of `received`. `Done` has the acceptor's grant, in bytes.
    pub fn advance(&mut self, received: &mut Vec<u8>) -> Result<Step<u64>, HandshakeError> {
        let Some(kind) = check_preamble(received)? else { return Ok(Step::Wait) };
        match (kind, self.fresh) {
            (kind::PROVEN_REFUSE, _) => take(received).map_or(Ok(Step::Wait), |message| {
                let refusal = read_proven_refusal(&self.key, &self.hello, &message);
                Err(refusal.map_or_else(|error| self.unproven(error), HandshakeError::Refused))
            }),
            (kind::CHALLENGE, None) => take(received).map_or(Ok(Step::Wait), |challenge| self.prove(&challenge)),
            (kind::ADDRESSES, Some(fresh)) if self.offer.stream == ASKS => self.addresses_received(&fresh, received),
            (kind::ACCEPT, Some(fresh)) if self.offer.stream != ASKS => {
                take(received).map_or(Ok(Step::Wait), |accept| self.accepted(&fresh, &accept))
            }
            _ => Err(HandshakeError::NotFishplate),
        }
    }

    /// The acceptor's addresses, if they were asked for.
    pub fn take_addresses(&mut self) -> Option<Vec<u8>> {
        self.addresses.take()
    }

    /// Whether the acceptor has proven that it knows this side's token.
    pub fn is_acquainted(&self) -> bool {
        self.is_acquainted
    }

    /// The keys of a connection whose peer is proven; `None`: it is not encrypted.
    pub fn into_keys(self) -> Option<Box<Keys>> {
        self.keys
    }

    fn prove(&mut self, challenge: &[u8; CHALLENGE_LEN]) -> Result<Step<u64>, HandshakeError> {
        let (fresh, proofs) = halves::<FRESH_LEN>(&challenge[PREAMBLE_LEN..]);
        let (proof, acquaintance) = proofs.split_at(PROOF_OF_TOKEN_LEN);
        verify(&self.key, purpose::ACCEPTOR, &[&self.hello, &fresh], proof).map_err(|error| self.unproven(error))?;
        self.is_acquainted = *acquaintance != [0; PROOF_OF_TOKEN_LEN];
        if self.is_acquainted || self.demands_acquaintance {
            verify(&self.own, purpose::ACQUAINTED, &[&self.hello, &fresh], acquaintance)?;
        }
        let share = share_of(&fresh);
        check_encryption(self.encrypts, &share)?;
        self.keys = keys(self.ephemeral.take(), Side::Initiator, &share, &self.key, [&self.hello, &fresh])?;
        self.fresh = Some(fresh);
        let mut offer = [0; OFFER_LEN];
        offer[0] = self.offer.rail;
        offer[1] = self.offer.stream;
        offer[2] = self.offer.class;
        offer[8..].copy_from_slice(&self.offer.grant.to_le_bytes());
        let alias = if self.is_acquainted { [0; ALIAS_LEN] } else { self.masked_alias(&fresh) };
        let identity = prove(&self.own, purpose::IDENTITY, &[&self.hello, &fresh, &offer]);
        let proof = prove(&self.key, purpose::INITIATOR, &[&self.hello, &fresh, &offer, &alias, identity.as_ref()]);
        let said = preamble(kind::PROOF, 0);
        Ok(Step::Send([&said[..], &offer, &alias, identity.as_ref(), proof.as_ref()].concat()))
    }

    /// The alias of this side, which differs for each acceptor. It is masked, so that only a party that knows the acceptor's token can
    /// read it.
    fn masked_alias(&self, fresh: &[u8; FRESH_LEN]) -> [u8; ALIAS_LEN] {
        let acceptor = &self.hello[16..24];
        mask(&self.key, [&self.hello, fresh], prove(&self.own, purpose::ALIAS, &[acceptor]).as_ref())
    }

    /// The error for a wrong proof of the acceptor.
    fn unproven(&self, error: HandshakeError) -> HandshakeError {
        match error {
            HandshakeError::Token if self.has_secret => HandshakeError::Secret,
            error => error,
        }
    }

    fn accepted(&self, fresh: &[u8; FRESH_LEN], accept: &[u8; ACCEPT_LEN]) -> Result<Step<u64>, HandshakeError> {
        let (grant, proof) = halves::<GRANT_LEN>(&accept[PREAMBLE_LEN..]);
        verify(&self.key, purpose::GRANT, &[&self.hello, fresh, &grant], proof)?;
        Ok(Step::Done(u64::from_le_bytes(grant)))
    }

    fn addresses_received(
        &mut self,
        fresh: &[u8; FRESH_LEN],
        received: &mut Vec<u8>,
    ) -> Result<Step<u64>, HandshakeError> {
        let Some(head) = received.get(PREAMBLE_LEN..).and_then(|rest| rest.first_chunk::<LIST_HEAD_LEN>()) else {
            return Ok(Step::Wait);
        };
        let len = usize::from(u16::from_le_bytes(*head));
        if len > MAX_LIST_LEN {
            return Err(HandshakeError::NotFishplate);
        }
        let end = PREAMBLE_LEN + LIST_HEAD_LEN + len;
        let Some(message) = received.get(..end + PROOF_OF_TOKEN_LEN) else { return Ok(Step::Wait) };
        let list = &message[PREAMBLE_LEN..end];
        verify(&self.key, purpose::ADDRESSES, &[&self.hello, fresh, list], &message[end..])?;
        self.addresses = Some(list[LIST_HEAD_LEN..].to_vec());
        received.drain(..end + PROOF_OF_TOKEN_LEN);
        Ok(Step::Done(0))
    }
}
