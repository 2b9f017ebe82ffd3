//! Messages that the stranger can make at a moment. Of each field he tries all values that he has seen in such a field, and one of
//! his own; of a proof, the right one, if he can compute it or has seen it anywhere, and one that is wrong.

use super::world::{Name, Part, Recipe, Role, Scenario, World};
use crate::encryption::SHARE_LEN;
use crate::handshake::Refusal;
use crate::handshake::message::{
    ALIAS_LEN, HELLO_NONCE_AT, NONCE_LEN, OFFER_LEN, PREAMBLE_LEN, PROOF_OF_TOKEN_LEN, code, kind, preamble, purpose,
};

const HELLO_SHARE_AT: usize = HELLO_NONCE_AT + NONCE_LEN;
const CHALLENGE_PROOFS_AT: usize = PREAMBLE_LEN + NONCE_LEN + SHARE_LEN;
const ALIAS_AT: usize = PREAMBLE_LEN + OFFER_LEN;
const IDENTITY_AT: usize = ALIAS_AT + ALIAS_LEN;
/// A point of X25519, whose secret he may know.
const OWN_SHARE: [u8; SHARE_LEN] = {
    let mut share = [0; SHARE_LEN];
    share[0] = 9;
    share
};

/// All that he can say to a side.
pub fn messages(world: &World, to: usize) -> Vec<Recipe> {
    let side = &world.sides[to];
    match (side.role, side.received.len()) {
        (Role::Acceptor { me }, 0) => hellos(world, me),
        (Role::Acceptor { me }, _) => proofs(world, to, me),
        (Role::Initiator { me, peer, .. }, 0) => [challenges(world, to, me, peer), refusals(world, to, peer)].concat(),
        (Role::Initiator { peer, .. }, _) => [accepts(world, to, peer), refusals(world, to, peer)].concat(),
    }
}

fn kind_of(message: &[u8]) -> u8 {
    message[6]
}

/// The parts of this place in all messages of this kind that were seen.
fn seen(world: &World, kind: u8, from: usize, len: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for (side, sent) in world.sides.iter().map(|side| &side.sent).enumerate() {
        let of_kind = sent.iter().enumerate().filter(|(_, sent)| kind_of(sent) == kind);
        parts.extend(of_kind.map(|(message, _)| Part::Seen { side, message, from, len }));
    }
    parts
}

/// Where proofs are in messages of a kind.
const PLACES: [(u8, usize); 7] = [
    (kind::CHALLENGE, CHALLENGE_PROOFS_AT),
    (kind::CHALLENGE, CHALLENGE_PROOFS_AT + PROOF_OF_TOKEN_LEN),
    (kind::PROOF, ALIAS_AT),
    (kind::PROOF, IDENTITY_AT),
    (kind::PROOF, IDENTITY_AT + PROOF_OF_TOKEN_LEN),
    (kind::ACCEPT, PREAMBLE_LEN + 8),
    (kind::PROVEN_REFUSE, PREAMBLE_LEN),
];

fn wrong() -> Part {
    Part::Fixed(vec![0xbd; PROOF_OF_TOKEN_LEN])
}

/// The right proof, if he has it.
fn proof(world: &World, key: Name, purpose: &'static [u8], of: Vec<Part>) -> Option<Part> {
    if world.scenario.is_stolen(key) {
        return Some(Part::Proof { key, purpose, of });
    }
    let of: Vec<Vec<u8>> = of.iter().map(|part| world.bytes(std::slice::from_ref(part))).collect();
    let right = world.prove(key, purpose, &of);
    let all = PLACES.iter().flat_map(|(kind, from)| seen(world, *kind, *from, PROOF_OF_TOKEN_LEN));
    all.into_iter().find(|part| world.bytes(std::slice::from_ref(part)) == right)
}

fn or_wrong(proof: Option<Part>) -> Part {
    proof.unwrap_or_else(wrong)
}

fn fixed(bytes: &[u8]) -> Part {
    Part::Fixed(bytes.to_vec())
}

fn begin(kind: u8, code: u8) -> Part {
    fixed(&preamble(kind, code))
}

/// Values that the stranger may send in place of a share.
fn shares(scenario: &Scenario, of_others: Vec<Part>) -> Vec<Part> {
    match scenario.terms.encryption {
        true => of_others.into_iter().chain([fixed(&OWN_SHARE)]).collect(),
        false => vec![fixed(&[0; SHARE_LEN])],
    }
}

fn hellos(world: &World, to: Name) -> Vec<Recipe> {
    let scenario = world.scenario;
    let nonces = seen(world, kind::HELLO, HELLO_NONCE_AT, NONCE_LEN);
    let shares = shares(scenario, seen(world, kind::HELLO, HELLO_SHARE_AT, SHARE_LEN));
    let terms = scenario.terms.encode();
    let mut made = Vec::new();
    for from in [Name::Anna, Name::Bob, Name::Stranger].into_iter().filter(|from| *from != to) {
        for nonce in nonces.iter().cloned().chain([fixed(&[0xee; NONCE_LEN])]) {
            for share in &shares {
                // The other has no checksums.
                for terms in [terms, terms ^ 4] {
                    let ids = [from.id().0.to_le_bytes(), to.id().0.to_le_bytes()].concat();
                    let rest = fixed(&[terms, 0, 0, 0, 0, 0, 0, 0]);
                    made.push(vec![begin(kind::HELLO, 0), fixed(&ids), nonce.clone(), share.clone(), rest]);
                }
            }
        }
    }
    made
}

/// The HELLO of a side that has sent one, or received it.
fn hello(world: &World, side: usize) -> Part {
    let side = &world.sides[side];
    let said = match side.role {
        Role::Initiator { .. } => &side.sent[0],
        Role::Acceptor { .. } => &side.received[0],
    };
    fixed(said)
}

/// Nonce and share of the acceptor, as a side has sent or received them.
fn fresh(world: &World, side: usize) -> Part {
    let side = &world.sides[side];
    let said = match side.role {
        Role::Initiator { .. } => &side.received[0],
        Role::Acceptor { .. } => &side.sent[0],
    };
    fixed(&said[PREAMBLE_LEN..CHALLENGE_PROOFS_AT])
}

fn challenges(world: &World, to: usize, me: Name, peer: Name) -> Vec<Recipe> {
    let nonces = seen(world, kind::CHALLENGE, PREAMBLE_LEN, NONCE_LEN);
    let shares = shares(world.scenario, seen(world, kind::CHALLENGE, PREAMBLE_LEN + NONCE_LEN, SHARE_LEN));
    let mut made = Vec::new();
    for nonce in nonces.into_iter().chain([fixed(&[0xee; NONCE_LEN])]) {
        for share in &shares {
            let fresh = fixed(&world.bytes(&[nonce.clone(), share.clone()]));
            let of = || vec![hello(world, to), fresh.clone()];
            let own = or_wrong(proof(world, peer, purpose::ACCEPTOR, of()));
            let known = proof(world, me, purpose::ACQUAINTED, of());
            for acquaintance in [Some(fixed(&[0; PROOF_OF_TOKEN_LEN])), Some(wrong()), known].into_iter().flatten() {
                made.push(vec![begin(kind::CHALLENGE, 0), nonce.clone(), share.clone(), own.clone(), acquaintance]);
            }
        }
    }
    made
}

fn proofs(world: &World, to: usize, me: Name) -> Vec<Recipe> {
    let is_stolen = world.scenario.is_stolen(me);
    let said = || vec![hello(world, to), fresh(world, to)];
    let own_offer = fixed(&[7; OFFER_LEN]);
    let zeros = fixed(&[0; ALIAS_LEN]);
    let aliases = seen(world, kind::PROOF, ALIAS_AT, ALIAS_LEN);
    let masked_again: Vec<Part> =
        aliases.iter().filter(|_| is_stolen).filter_map(|alias| masked_again(world, alias, me, said())).collect();
    let mut made = Vec::new();
    for offer in seen(world, kind::PROOF, PREAMBLE_LEN, OFFER_LEN).into_iter().chain([own_offer]) {
        let about = || [said(), vec![offer.clone()]].concat();
        let keys = [Name::Anna, Name::Bob, Name::Stranger].into_iter().filter(|key| *key != me);
        let right = keys.filter_map(|key| proof(world, key, purpose::IDENTITY, about()));
        let identities = right.chain(seen(world, kind::PROOF, IDENTITY_AT, PROOF_OF_TOKEN_LEN)).chain([wrong()]);
        for identity in identities {
            for alias in aliases.iter().chain(&masked_again).chain([&zeros]) {
                let of = [about(), vec![alias.clone(), identity.clone()]].concat();
                let own = or_wrong(proof(world, me, purpose::INITIATOR, of));
                made.push(vec![begin(kind::PROOF, 0), offer.clone(), alias.clone(), identity.clone(), own]);
            }
        }
    }
    made
}

/// The alias in a message to `acceptor`, whose key he has, under the mask of another handshake with it.
fn masked_again(world: &World, alias: &Part, acceptor: Name, said: Vec<Part>) -> Option<Part> {
    let Part::Seen { side, .. } = alias else { return None };
    let mask = |of| Part::Proof { key: acceptor, purpose: purpose::ALIAS_MASK, of };
    let bare = Part::Xor(Box::new([alias.clone(), mask(vec![hello(world, *side), fresh(world, *side)])]));
    Some(Part::Xor(Box::new([bare, mask(said)])))
}

fn accepts(world: &World, to: usize, peer: Name) -> Vec<Recipe> {
    let own = fixed(&7u64.to_le_bytes());
    let grants = seen(world, kind::ACCEPT, PREAMBLE_LEN, 8).into_iter().chain([own]);
    let made = |grant: Part| {
        let of = vec![hello(world, to), fresh(world, to), grant.clone()];
        vec![begin(kind::ACCEPT, 0), grant, or_wrong(proof(world, peer, purpose::GRANT, of))]
    };
    grants.map(made).collect()
}

fn refusals(world: &World, to: usize, peer: Name) -> Vec<Recipe> {
    let seen = world.sides.iter().flat_map(|side| &side.sent).filter(|sent| kind_of(sent) == kind::PROVEN_REFUSE);
    // Closed ends most.
    let codes = seen.map(|sent| sent[7]).chain([code(Refusal::Closed)]);
    let made = |code| {
        let of = vec![hello(world, to), begin(kind::PROVEN_REFUSE, code)];
        vec![begin(kind::PROVEN_REFUSE, code), or_wrong(proof(world, peer, purpose::REFUSAL, of))]
    };
    codes.map(made).collect()
}
