//! Both sides against each other, and against what is not one of them.

use fishplate_engine::wire::VERSION;

use super::*;

const OFFER: Offer = Offer { rail: 3, stream: 1, grant: 1 << 22 };

fn address(id: u64, token: u8) -> Address {
    Address { id: EndpointId(id), token: Token([token; 16]), port: 1, rails: Vec::new() }
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
                to_initiator.extend(accept(77));
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
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
    let ends = run(&mut initiator, hello, &mut acceptor);
    assert_eq!(ends, (Ok(77), Ok(Proven { peer: EndpointId(5), offer: OFFER })));
}

#[test]
fn an_acceptor_with_another_token_is_found_out() {
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
    let mut acceptor = Acceptor::new(EndpointId(9), Token([43; 16]), [2; 16]);
    assert_eq!(run(&mut initiator, hello, &mut acceptor).0, Err(HandshakeError::Token));
}

#[test]
fn an_initiator_without_the_token_is_found_out() {
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
    let (_, mut bytes) = Initiator::start(EndpointId(5), &address(9, 0), [1; 16], OFFER);
    assert!(matches!(acceptor.advance(&mut bytes), Ok(Step::Send(_))));
    let mut proof = preamble(kind::PROOF, 0).to_vec();
    proof.extend_from_slice(&[0; OFFER_LEN + 32]);
    assert_eq!(acceptor.advance(&mut proof), Err(HandshakeError::Token));
}

#[test]
fn a_proof_does_not_fit_another_challenge() {
    let (mut initiator, hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
    let mut first = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
    let mut second = Acceptor::new(EndpointId(9), Token([42; 16]), [3; 16]);
    let Ok(Step::Send(mut challenge)) = first.advance(&mut hello.clone()) else { panic!() };
    assert!(matches!(second.advance(&mut hello.clone()), Ok(Step::Send(_))));
    let Ok(Step::Send(mut proof)) = initiator.advance(&mut challenge) else { panic!() };
    assert_eq!(second.advance(&mut proof), Err(HandshakeError::Token));
}

#[test]
fn another_version_and_another_endpoint_are_told_apart() {
    let (mut initiator, mut hello) = Initiator::start(EndpointId(5), &address(9, 42), [1; 16], OFFER);
    let mut acceptor = Acceptor::new(EndpointId(8), Token([42; 16]), [2; 16]);
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
fn garbage_is_refused_at_its_first_byte() {
    let mut acceptor = Acceptor::new(EndpointId(9), Token([42; 16]), [2; 16]);
    assert_eq!(acceptor.advance(&mut b"G".to_vec()), Err(HandshakeError::NotFishplate));
    assert_eq!(acceptor.advance(&mut b"FiPl".to_vec()), Ok(Step::Wait));
    assert_eq!(acceptor.advance(&mut Vec::new()), Ok(Step::Wait));
}
