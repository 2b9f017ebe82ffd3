//! Both sides against each other, and against strangers.

use fishplate_engine::wire::VERSION;

use super::message::{HELLO_NONCE_AT, NONCE_LEN, PREAMBLE_LEN, PROOF_LEN, kind, preamble};
use super::*;
use crate::address::{Address, EndpointId, Token};
use crate::encryption::Opened;
use crate::link_name::ASKS;
use crate::secret::Secret;

pub(crate) const OFFER: Offer = Offer { rail: 3, stream: 1, class: 2, grant: 1 << 22 };

pub(crate) fn address(id: u8, token: u8) -> Address {
    Address { id: EndpointId(id.into()), ..Address::new(Token([token; 16]), 1, Vec::new()) }
}

/// An endpoint with this number, whose token is made of it.
pub(crate) fn party(id: u8, terms: Terms) -> Party {
    Party { id: EndpointId(id.into()), token: Token([id; 16]), terms }
}

/// Endpoint 5 begins with endpoint 9, whose token it takes to be made of `token`.
fn start(token: u8, nonce: u8, offer: Offer, terms: Terms) -> (Initiator, Vec<u8>) {
    Initiator::start(&party(5, terms), &address(9, token), [nonce; 16], offer, false).unwrap()
}

/// Endpoint 9, with this token.
fn acceptor_with(token: u8, terms: Terms) -> Acceptor {
    let me = Party { token: Token([token; 16]), ..party(9, terms) };
    Acceptor::new(me, [2; 16])
}

pub(super) fn encrypted(encryption: bool) -> Terms {
    Terms { encryption, ..Terms::default() }
}

/// Both sides, which know the acceptor's token; and the first message.
fn sides(here: Terms, there: Terms) -> (Initiator, Vec<u8>, Acceptor) {
    let (initiator, hello) = start(42, 1, OFFER, here);
    (initiator, hello, acceptor_with(42, there))
}

/// How each of them ends.
fn run_sides(here: Terms, there: Terms) -> (Result<u64, HandshakeError>, Result<Proven, HandshakeError>) {
    let (mut initiator, hello, mut acceptor) = sides(here, there);
    run(&mut initiator, hello, &mut acceptor)
}

/// The message that one of them answers with.
fn answer<T: std::fmt::Debug>(answer: Result<Step<T>, HandshakeError>) -> Vec<u8> {
    let Ok(Step::Send(bytes)) = answer else { panic!("{answer:?}") };
    bytes
}

fn nobody(_: EndpointId) -> Option<Token> {
    None
}

pub(super) fn all(id: EndpointId) -> Option<Token> {
    Some(Token([id.0 as u8; 16]))
}

/// Runs both sides; returns how each ended.
fn run(
    initiator: &mut Initiator,
    hello: Vec<u8>,
    acceptor: &mut Acceptor,
) -> (Result<u64, HandshakeError>, Result<Proven, HandshakeError>) {
    let (mut to_acceptor, mut to_initiator) = (hello, Vec::new());
    let accepted = loop {
        match acceptor.advance(&mut to_acceptor, nobody) {
            Ok(Step::Send(bytes)) => to_initiator.extend(bytes),
            Ok(Step::Done(proven)) => {
                to_initiator.extend(acceptor.accept(77));
                break Ok(proven);
            }
            Err(error) => {
                to_initiator.extend(refusal_for(&error).map(|refusal| acceptor.refuse(refusal)).unwrap_or_default());
                break Err(error);
            }
            Ok(Step::Wait) => match initiator.advance(&mut to_initiator) {
                Ok(Step::Send(bytes)) => to_acceptor.extend(bytes),
                Ok(other) => panic!("{other:?}"),
                Err(error) => return (Err(error), Err(HandshakeError::NotFishplate)),
            },
        }
    };
    let initiated = match initiator.advance(&mut to_initiator) {
        Ok(Step::Done(grant)) => Ok(grant),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    };
    (initiated, accepted)
}

#[test]
fn both_sides_are_proven() {
    let (initiated, accepted) = run_sides(encrypted(false), encrypted(false));
    assert_eq!(initiated, Ok(77));
    let proven = accepted.unwrap();
    assert_eq!((proven.peer, proven.offer), (EndpointId(5), OFFER));
    assert!(proven.identity.is_of(&Token([5; 16]), None) && !proven.identity.is_of(&Token([6; 16]), None));
}

/// Runs a question for addresses until both sides are proven.
fn asking() -> (Initiator, Acceptor) {
    let asks = Offer { stream: ASKS, ..OFFER };
    let (mut initiator, mut hello) = start(42, 1, asks, encrypted(false));
    let mut acceptor = acceptor_with(42, encrypted(false));
    let mut challenge = answer(acceptor.advance(&mut hello, nobody));
    let mut proof = answer(initiator.advance(&mut challenge));
    assert!(matches!(acceptor.advance(&mut proof, nobody), Ok(Step::Done(proven)) if proven.offer == asks));
    (initiator, acceptor)
}

#[test]
fn a_request_for_addresses_is_answered() {
    let (mut initiator, acceptor) = asking();
    let message = acceptor.tell(&[7; 300]);
    let mut so_far = Vec::new();
    for byte in &message[..message.len() - 1] {
        so_far.push(*byte);
        assert_eq!(initiator.advance(&mut so_far), Ok(Step::Wait));
    }
    so_far.extend(&message[message.len() - 1..]);
    assert_eq!(initiator.advance(&mut so_far), Ok(Step::Done(0)));
    assert_eq!(initiator.take_addresses(), Some(vec![7; 300]));
}

#[test]
fn addresses_that_were_changed_on_the_way_or_not_asked_for_are_refused() {
    for at in [8, 10, 30, 45] {
        let (mut initiator, acceptor) = asking();
        let mut message = acceptor.tell(&[7; 10]);
        message[at] ^= 1;
        message.extend([0; 2]);
        assert_eq!(initiator.advance(&mut message), Err(HandshakeError::Token), "{at}");
    }
    let (mut initiator, acceptor) = asking();
    assert_eq!(initiator.advance(&mut acceptor.accept(7)), Err(HandshakeError::NotFishplate));
    let (mut initiator, mut hello, mut acceptor) = sides(encrypted(false), encrypted(false));
    answer(initiator.advance(&mut answer(acceptor.advance(&mut hello, nobody))));
    assert_eq!(initiator.advance(&mut acceptor.tell(&[])), Err(HandshakeError::NotFishplate));
}

#[test]
fn sides_that_encrypt_agree_on_keys_and_the_others_have_none() {
    for encryption in [false, true] {
        let (mut initiator, hello, mut acceptor) = sides(encrypted(encryption), encrypted(encryption));
        assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Ok(77));
        let keys = initiator.into_keys().zip(acceptor.take_keys());
        assert_eq!(keys.is_some(), encryption);
        let Some((initiator, mut acceptor)) = keys else { continue };
        let mut record = Vec::new();
        { initiator }.sealing.seal(&mut record, |out| out.extend_from_slice(b"content"));
        assert_eq!(
            acceptor.opening.open(&mut record, 0),
            Ok(Some(Opened { record_len: record.len(), content_len: 7 }))
        );
    }
}

#[test]
fn both_sides_must_encrypt_or_neither_and_have_checksums_or_neither() {
    for here in [false, true] {
        let checksum = |checksum| Terms { checksum, ..Terms::default() };
        for (term, ends) in [
            (Term::Encryption, run_sides(encrypted(here), encrypted(!here))),
            (Term::Checksum, run_sides(checksum(here), checksum(!here))),
        ] {
            assert_eq!(ends.1, Err(HandshakeError::Differs(term, here)));
            assert_eq!(ends.0, Err(HandshakeError::Refused(Refusal::Differs(term, !here))));
        }
    }
}

#[test]
fn nobody_in_between_can_put_in_a_share_of_his_own_or_change_the_grant() {
    let (mut initiator, mut hello, mut acceptor) = sides(encrypted(true), encrypted(true));
    hello[HELLO_NONCE_AT + NONCE_LEN] ^= 1;
    let mut challenge = answer(acceptor.advance(&mut hello, nobody));
    assert_eq!(initiator.advance(&mut challenge), Err(HandshakeError::Token));

    let (mut initiator, mut hello, mut acceptor) = sides(encrypted(true), encrypted(true));
    let challenge = answer(acceptor.advance(&mut hello, nobody));
    let mut changed = challenge.clone();
    changed[PREAMBLE_LEN + NONCE_LEN] ^= 1;
    assert_eq!(initiator.advance(&mut changed), Err(HandshakeError::Token));
    let mut proof = answer(initiator.advance(&mut challenge.clone()));
    assert!(matches!(acceptor.advance(&mut proof, nobody), Ok(Step::Done(_))));
    let mut accept = acceptor.accept(77);
    accept[PREAMBLE_LEN] ^= 1;
    assert_eq!(initiator.advance(&mut accept), Err(HandshakeError::Token));
}

#[test]
fn an_acceptor_with_another_token_is_found_out() {
    let (mut initiator, hello) = start(42, 1, OFFER, encrypted(false));
    let mut acceptor = acceptor_with(43, encrypted(false));
    assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Err(HandshakeError::Token));
}

#[test]
fn an_initiator_without_the_token_is_found_out() {
    let mut acceptor = acceptor_with(42, encrypted(false));
    let (_, mut bytes) = start(0, 1, OFFER, encrypted(false));
    assert!(matches!(acceptor.advance(&mut bytes, nobody), Ok(Step::Send(_))));
    let mut proof = preamble(kind::PROOF, 0).to_vec();
    proof.extend_from_slice(&[0; PROOF_LEN - PREAMBLE_LEN]);
    assert_eq!(acceptor.advance(&mut proof, nobody), Err(HandshakeError::Token));
}

#[test]
fn a_proof_does_not_fit_another_challenge() {
    let (mut initiator, hello, mut first) = sides(encrypted(false), encrypted(false));
    let mut second = Acceptor::new(Party { token: Token([42; 16]), ..party(9, Terms::default()) }, [3; 16]);
    let mut challenge = answer(first.advance(&mut hello.clone(), nobody));
    answer(second.advance(&mut hello.clone(), nobody));
    let mut proof = answer(initiator.advance(&mut challenge));
    assert_eq!(second.advance(&mut proof, nobody), Err(HandshakeError::Token));
}

#[test]
fn another_version_and_another_endpoint_are_distinguished() {
    let (mut initiator, mut hello) = start(42, 1, OFFER, encrypted(false));
    let mut acceptor = Acceptor::new(Party { token: Token([42; 16]), ..party(8, Terms::default()) }, [2; 16]);
    let (initiated, accepted) = run(&mut initiator, hello.clone(), &mut acceptor);
    assert_eq!(initiated, Err(HandshakeError::Hinted(Refusal::NotMe)));
    assert_eq!(accepted, Err(HandshakeError::NotMe));
    hello[4] = 99;
    let (_, accepted) = run(&mut initiator, hello, &mut acceptor);
    assert_eq!(accepted, Err(HandshakeError::Version(99)));
    let text = HandshakeError::Refused(Refusal::Version(99)).to_string();
    assert!(text.contains("99") && text.contains(&VERSION.to_string()), "{text}");
}

#[test]
fn a_stranger_who_refuses_is_not_believed() {
    let mut acceptor = acceptor_with(42, encrypted(false));
    let mut refusal = refuse(Refusal::Differs(Term::Encryption, true));
    assert_eq!(acceptor.advance(&mut refusal, nobody), Err(HandshakeError::NotFishplate));
}

#[test]
fn garbage_is_refused_at_its_first_byte() {
    let mut acceptor = acceptor_with(42, encrypted(false));
    assert_eq!(acceptor.advance(&mut b"G".to_vec(), nobody), Err(HandshakeError::NotFishplate));
    assert_eq!(acceptor.advance(&mut b"FiPl".to_vec(), nobody), Ok(Step::Wait));
    assert_eq!(acceptor.advance(&mut Vec::new(), nobody), Ok(Step::Wait));
}

/// Runs both sides with an acceptor that knows tokens as `known` does: the acceptor's end, and whether the initiator has seen
/// that its own is known.
fn meet(
    initiator: (Initiator, Vec<u8>),
    known: fn(EndpointId) -> Option<Token>,
) -> (Result<Proven, HandshakeError>, bool) {
    let (mut initiator, mut hello) = initiator;
    let mut acceptor = acceptor_with(42, Terms::default());
    let mut challenge = answer(acceptor.advance(&mut hello, known));
    match initiator.advance(&mut challenge) {
        Ok(Step::Send(mut proof)) => match acceptor.advance(&mut proof, known) {
            Ok(Step::Done(proven)) => (Ok(proven), initiator.is_acquainted()),
            other => panic!("{other:?}"),
        },
        Err(error) => (Err(error), initiator.is_acquainted()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn known_peers_are_proven_by_both_tokens_and_unknown_ones_have_aliases() {
    let (known, acquainted) = meet(start(42, 1, OFFER, Terms::default()), all);
    let known = known.unwrap();
    assert!(acquainted && known.alias == [0; 32] && known.identity.is_of(&Token([5; 16]), None));
    let guests = [1, 2].map(|nonce| {
        let (guest, acquainted) = meet(start(42, nonce, OFFER, Terms::default()), nobody);
        assert!(!acquainted);
        guest.unwrap()
    });
    assert!(guests[0].alias == guests[1].alias && guests[0].alias != [0; 32]);
    assert!(guests.iter().all(|guest| guest.identity.is_of(&Token([5; 16]), None)));
    // Somebody else, who says that he is endpoint 5 and knows the acceptor's token alone.
    let liar = Party { token: Token([6; 16]), ..party(5, Terms::default()) };
    let liar = || Initiator::start(&liar, &address(9, 42), [3; 16], OFFER, false).unwrap();
    let (found, _) = meet(liar(), nobody);
    let found = found.unwrap();
    assert!(found.alias != guests[0].alias && !found.identity.is_of(&Token([5; 16]), None));
    // An acceptor that knows endpoint 5 is not known to the liar, who ends it.
    assert_eq!(meet(liar(), all).0, Err(HandshakeError::Token));
}

#[test]
fn an_acceptor_that_has_known_this_side_must_know_it_again() {
    let again = || Initiator::start(&party(5, Terms::default()), &address(9, 42), [1; 16], OFFER, true).unwrap();
    assert!(meet(again(), all).0.is_ok());
    assert_eq!(meet(again(), nobody).0, Err(HandshakeError::Token));
}

fn with_secret(secret: &[u8]) -> Terms {
    Terms { secret: Some(Secret::from_bytes(secret)), ..Terms::default() }
}

#[test]
fn the_secret_must_be_that_of_both_sides() {
    for encryption in [false, true] {
        let terms = |secret| Terms { encryption, ..with_secret(secret) };
        assert_eq!(run_sides(terms(b"one"), terms(b"one")).0, Ok(77));
        let error = run_sides(terms(b"one"), terms(b"two")).0.unwrap_err();
        assert_eq!(error, HandshakeError::Secret);
        assert!(error.to_string().contains("FISHPLATE_SECRET_FILE is another one"));
    }
    for (here, there) in [(with_secret(b"one"), Terms::default()), (Terms::default(), with_secret(b"one"))] {
        let (initiated, accepted) = run_sides(here, there);
        let has = here.secret.is_some();
        assert_eq!(accepted, Err(HandshakeError::Differs(Term::Secret, has)));
        assert_eq!(initiated, Err(HandshakeError::Hinted(Refusal::Differs(Term::Secret, !has))));
        let text = initiated.unwrap_err().to_string();
        let [here, there] = if has { ["set", "not set"] } else { ["not set", "set"] };
        assert!(
            text.contains(&format!("FISHPLATE_SECRET_FILE is {there} at the peer and {here} at this side")),
            "{text}"
        );
    }
}
