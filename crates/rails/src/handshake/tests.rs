//! Both sides against each other, and against what is not one of them.

use fishplate_engine::wire::VERSION;

use super::*;

const OFFER: Offer = Offer { rail: 3, stream: 1, grant: 1 << 22 };

fn address(id: u64, token: u8) -> Address {
    Address { id: EndpointId(id), token: Token([token; 16]), port: 1, rails: Vec::new(), has_more: false }
}

/// Runs both sides; returns how each ended.
fn run(
    initiator: &mut Initiator,
    hello: Vec<u8>,
    acceptor: &mut Acceptor,
) -> (Result<u64, HandshakeError>, Result<Proven, HandshakeError>) {
    let (mut to_acceptor, mut to_initiator) = (hello, Vec::new());
    let accepted = loop {
        match acceptor.advance(&mut to_acceptor) {
            Ok(Step::Send(bytes)) => to_initiator.extend(bytes),
            Ok(Step::Done(proven)) => {
                to_initiator.extend(acceptor.accept(77));
                break Ok(proven);
            }
            Err(error) => {
                to_initiator.extend(refusal_for(&error).map(refuse).unwrap_or_default());
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
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, false).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let ends = run(&mut initiator, hello, &mut acceptor);
    assert_eq!(ends, (Ok(77), Ok(Proven { peer: EndpointId(5), offer: OFFER })));
}

/// Runs a question for addresses until both sides are proven.
fn asking() -> (Initiator, Acceptor) {
    let asks = Offer { stream: ASKS, ..OFFER };
    let (mut initiator, mut hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], asks, false).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let Ok(Step::Send(mut challenge)) = acceptor.advance(&mut hello) else { panic!("no challenge") };
    let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge) else { panic!("no proof") };
    assert!(matches!(acceptor.advance(&mut proof), Ok(Step::Done(proven)) if proven.offer == asks));
    (initiator, acceptor)
}

#[test]
fn who_asks_is_told_the_addresses() {
    let (mut initiator, acceptor) = asking();
    let told = acceptor.tell(&[7; 300]);
    let mut so_far = Vec::new();
    for byte in &told[..told.len() - 1] {
        so_far.push(*byte);
        assert_eq!(initiator.advance(&mut so_far), Ok(Step::Wait));
    }
    so_far.extend(&told[told.len() - 1..]);
    assert_eq!(initiator.advance(&mut so_far), Ok(Step::Done(0)));
    assert_eq!(initiator.take_addresses(), Some(vec![7; 300]));
}

#[test]
fn addresses_that_were_changed_on_the_way_or_not_asked_for_are_refused() {
    for at in [8, 10, 30, 45] {
        let (mut initiator, acceptor) = asking();
        let mut told = acceptor.tell(&[7; 10]);
        told[at] ^= 1;
        told.extend([0; 2]);
        assert_eq!(initiator.advance(&mut told), Err(HandshakeError::Token), "{at}");
    }
    let (mut initiator, acceptor) = asking();
    assert_eq!(initiator.advance(&mut acceptor.accept(7)), Err(HandshakeError::NotFishplate));
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, false).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let mut hello = hello;
    let Ok(Step::Send(mut challenge)) = acceptor.advance(&mut hello) else { panic!("no challenge") };
    assert!(matches!(initiator.advance(&mut challenge), Ok(Step::Send(_))));
    assert_eq!(initiator.advance(&mut acceptor.tell(&[])), Err(HandshakeError::NotFishplate));
}

#[test]
fn sides_that_encrypt_agree_on_keys_and_the_others_have_none() {
    for encryption in [false, true] {
        let started = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, encryption);
        let (mut initiator, hello) = started.unwrap();
        let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], encryption);
        assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Ok(77));
        let keys = initiator.into_keys().zip(acceptor.take_keys());
        assert_eq!(keys.is_some(), encryption);
        let Some((initiator, mut acceptor)) = keys else { continue };
        let mut record = Vec::new();
        { initiator }.sealing.seal(&mut record, |out| out.extend_from_slice(b"content"));
        assert_eq!(acceptor.opening.open(&mut record, 0), Ok(Some((record.len(), 7))));
    }
}

#[test]
fn both_sides_must_encrypt_or_neither() {
    for encrypts in [false, true] {
        let started = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, encrypts);
        let (mut initiator, hello) = started.unwrap();
        let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], !encrypts);
        let (initiated, accepted) = run(&mut initiator, hello, &mut acceptor);
        assert_eq!(accepted, Err(HandshakeError::Encryption(encrypts)));
        assert_eq!(initiated, Err(HandshakeError::Refused(Refusal::Encryption(!encrypts))));
    }
}

#[test]
fn nobody_in_between_can_put_in_a_share_of_his_own_or_change_the_grant() {
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, true).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], true);
    let mut changed = hello.clone();
    changed[HELLO_NONCE_AT + NONCE_LEN] ^= 1;
    let Ok(Step::Send(mut challenge)) = acceptor.advance(&mut changed) else { panic!() };
    assert_eq!(initiator.advance(&mut challenge), Err(HandshakeError::Token));

    let (mut initiator, mut hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, true).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], true);
    let Ok(Step::Send(challenge)) = acceptor.advance(&mut hello) else { panic!() };
    let mut changed = challenge.clone();
    changed[PREAMBLE_LEN + NONCE_LEN] ^= 1;
    assert_eq!(initiator.advance(&mut changed), Err(HandshakeError::Token));
    let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge.clone()) else { panic!() };
    assert!(matches!(acceptor.advance(&mut proof), Ok(Step::Done(_))));
    let mut accept = acceptor.accept(77);
    accept[PREAMBLE_LEN] ^= 1;
    assert_eq!(initiator.advance(&mut accept), Err(HandshakeError::Token));
}

#[test]
fn an_acceptor_with_another_token_is_found_out() {
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, false).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(9), Token([43; 16]), [2; 16], false);
    assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Err(HandshakeError::Token));
}

#[test]
fn an_initiator_without_the_token_is_found_out() {
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let (_, mut bytes) = Initiator::start(EndpointId(5), &address(9, 0), [1; 16], OFFER, false).unwrap();
    assert!(matches!(acceptor.advance(&mut bytes), Ok(Step::Send(_))));
    let mut proof = preamble(kind::PROOF, 0).to_vec();
    proof.extend_from_slice(&[0; OFFER_LEN + 32]);
    assert_eq!(acceptor.advance(&mut proof), Err(HandshakeError::Token));
}

#[test]
fn a_proof_does_not_fit_another_challenge() {
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, false).unwrap();
    let mut first = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let mut second = Acceptor::new(EndpointId(9), Token([42; 16]), [3; 16], false);
    let Ok(Step::Send(mut challenge)) = first.advance(&mut hello.clone()) else { panic!() };
    assert!(matches!(second.advance(&mut hello.clone()), Ok(Step::Send(_))));
    let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge) else { panic!() };
    assert_eq!(second.advance(&mut proof), Err(HandshakeError::Token));
}

#[test]
fn another_version_and_another_endpoint_are_told_apart() {
    let (mut initiator, mut hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER, false).unwrap();
    let mut acceptor = Acceptor::new(EndpointId(8), Token([42; 16]), [2; 16], false);
    let (initiated, accepted) = run(&mut initiator, hello.clone(), &mut acceptor);
    assert_eq!(initiated, Err(HandshakeError::Refused(Refusal::NotMe)));
    assert_eq!(accepted, Err(HandshakeError::NotMe));
    hello[4] = 99;
    let (_, accepted) = run(&mut initiator, hello, &mut acceptor);
    assert_eq!(accepted, Err(HandshakeError::Version(99)));
    let text = HandshakeError::Refused(Refusal::Version(99)).to_string();
    assert!(text.contains("99") && text.contains(&VERSION.to_string()), "{text}");
}

#[test]
fn a_stranger_who_refuses_is_not_believed() {
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    let mut refusal = refuse(Refusal::Encryption(true));
    assert_eq!(acceptor.advance(&mut refusal), Err(HandshakeError::NotFishplate));
}

#[test]
fn garbage_is_refused_at_its_first_byte() {
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16], false);
    assert_eq!(acceptor.advance(&mut b"G".to_vec()), Err(HandshakeError::NotFishplate));
    assert_eq!(acceptor.advance(&mut b"FiPl".to_vec()), Ok(Step::Wait));
    assert_eq!(acceptor.advance(&mut Vec::new()), Ok(Step::Wait));
}
