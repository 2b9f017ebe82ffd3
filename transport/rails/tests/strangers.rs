//! Strangers and bad peers at the port of an endpoint: they get nowhere, and a peer that behaves does not notice. One that
//! says goodbye is let go.

mod common;

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};

use common::script::{OFFER, eager, frame, knock, party, peer, prove, prove_as, read};
use common::{injected, loss, recv, settings, until};
use fishplate_engine::wire::Body;
use fishplate_engine::{MessageSeq, Operation};
use fishplate_rails::address::Token;
use fishplate_rails::handshake::{HandshakeError, Initiator, Offer, Party, Refusal, Step};
use fishplate_rails::{Address, Endpoint};

fn open() -> Endpoint {
    common::open(&settings())
}

/// Two endpoints exchange a message.
fn exchange(from: &mut Endpoint, to: &mut Endpoint) {
    let vc = from.peer(to.address());
    let mut buffer = [0; 5];
    recv(to, 1, &mut buffer, None);
    from.send(injected(vc, 1, b"hello")).unwrap();
    let completion = until(to, |to| {
        from.progress();
        to.poll_completion()
    });
    assert_eq!((completion.operation, completion.result, completion.len), (Operation::Recv, Ok(()), 5));
    std::hint::black_box(&mut buffer);
    assert_eq!(&buffer, b"hello");
}

/// Until the other side has closed it; what it said before.
fn end(endpoint: &mut Endpoint, stream: &TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    until(endpoint, |_| match read(stream) {
        Some(more) => {
            said.extend(more);
            None
        }
        None => Some(()),
    });
    said
}

#[test]
fn a_handshake_that_was_overheard_cannot_be_repeated() {
    let mut endpoint = open();
    let (_proven, sent) = prove(&mut endpoint, 1, OFFER);
    let address = endpoint.address().clone();
    let mut stream = knock(&address);
    for message in &sent {
        stream.write_all(message).unwrap();
    }
    let mut said = end(&mut endpoint, &stream);
    // The challenge is another one, so that the proof is wrong.
    let (mut initiator, _) = Initiator::start(&party(), &address, [1; 16], OFFER, false).unwrap();
    assert!(matches!(initiator.advance(&mut said), Ok(Step::Send(_))));
    assert_eq!(initiator.advance(&mut said), Err(HandshakeError::Refused(Refusal::Token)));
    exchange(&mut open(), &mut endpoint);
}

#[test]
fn more_than_a_handshake_has_is_not_kept_but_ends_the_connection() {
    let mut endpoint = open();
    let address = endpoint.address().clone();
    let (_, hello) = Initiator::start(&party(), &address, [1; 16], OFFER, false).unwrap();
    let endless = std::iter::repeat_n(b"FiPl\x01\x00\x01\x00".as_slice(), 100_000).flatten().copied();
    for mut bytes in [vec![b'F'; 1 << 20], [hello.clone(), vec![0; 1 << 20]].concat(), endless.collect()] {
        let stream = knock(&address);
        bytes.reverse();
        // As much as it takes until it closes.
        until(&mut endpoint, |_| {
            let part: Vec<u8> = bytes.iter().rev().take(1000).copied().collect();
            match (&stream).write(&part) {
                Ok(sent) => bytes.truncate(bytes.len() - sent),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Some(()),
            }
            read(&stream).is_none().then_some(())
        });
        assert!(bytes.len() > 1 << 18, "it has read on");
    }
    exchange(&mut open(), &mut endpoint);
}

#[test]
fn those_who_say_nothing_or_little_at_a_time_keep_nobody_away() {
    let mut endpoint = open();
    let address = endpoint.address().clone();
    let (_, hello) = Initiator::start(&party(), &address, [1; 16], OFFER, false).unwrap();
    let mut slow: Vec<TcpStream> = (0..50).map(|_| knock(&address)).collect();
    for byte in &hello[..20] {
        slow.iter_mut().for_each(|stream| stream.write_all(&[*byte]).unwrap());
        endpoint.progress();
    }
    let silent: Vec<TcpStream> = (0..500)
        .map(|_| {
            endpoint.progress();
            knock(&address)
        })
        .collect();
    exchange(&mut open(), &mut endpoint);
    assert!(silent.iter().all(|stream| read(stream).is_none_or(|said| said.is_empty())));
}

#[test]
fn a_proven_peer_that_breaks_the_protocol_loses_its_channel_and_nobody_else_does() {
    let cases = [
        ("more than it was granted", frame(eager(0, u32::MAX), 1000)),
        ("a sequence number out of range", frame(eager(u32::MAX / 2, 8), 8)),
        (
            "a sequence number out of range",
            frame(Body::EarlyData { seq: MessageSeq(u32::MAX / 2), offset: 0, len: 8 }, 8),
        ),
        ("it leaves frames out", frame(Body::Resume { number: 1 }, 0)),
        ("unknown frame kind 255", vec![255; 64]),
        ("bytes behind a frame that carries none", [&[5, 0, 0, 0, 255, 255, 255, 255][..], &[0; 12]].concat()),
    ];
    for (at, (why, bytes)) in cases.into_iter().enumerate() {
        let mut endpoint = open();
        let (mut stream, _) = prove(&mut endpoint, at as u8, OFFER);
        let source = Some(endpoint.peer(&peer()));
        let mut buffer = [0; 5];
        recv(&mut endpoint, 9, &mut buffer, source);
        stream.write_all(&bytes).unwrap();
        let told = loss(&until(&mut endpoint, Endpoint::poll_completion));
        assert!(told.contains("the peer broke the protocol") && told.contains(why), "{why}: {told}");
        end(&mut endpoint, &stream);
        exchange(&mut open(), &mut endpoint);
    }
}

#[test]
fn the_ends_of_all_connections_are_noticed_although_the_last_frames_came_together_with_them() {
    let mut endpoint = open();
    let connections = [0, 1, 2].map(|stream| prove(&mut endpoint, stream, Offer { stream, ..OFFER }).0);
    // All that is under way has been read, and reported by the poll set.
    endpoint.progress();
    for mut connection in &connections {
        connection.write_all(&frame(Body::Bye, 0)).unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
    }
    for connection in &connections {
        end(&mut endpoint, connection);
    }
}

/// Somebody who says to be the peer that tests play, and knows the endpoint's token alone.
fn liar(token: u8) -> Party {
    Party { token: Token([token; 16]), ..party() }
}

/// The peer that tests play sends a message over a connection of its own, for which there is a receive.
fn speaks(endpoint: &mut Endpoint, mut stream: &TcpStream, seq: u32) {
    let source = Some(endpoint.peer(&peer()));
    let mut buffer = [0; 8];
    recv(endpoint, 5, &mut buffer, source);
    stream.write_all(&frame(eager(seq, 8), 8)).unwrap();
    let completion = until(endpoint, Endpoint::poll_completion);
    assert_eq!((completion.result, completion.len), (Ok(()), 8));
    assert_eq!(std::hint::black_box(&buffer), &[7; 8]);
}

#[test]
fn nobody_takes_the_name_of_a_peer_by_the_token_of_the_endpoint_alone() {
    let mut endpoint = open();
    endpoint.meet(&peer());
    let refused = |endpoint: &mut Endpoint, nonce| prove_as(&liar(nonce), endpoint, nonce, OFFER).unwrap_err();
    // It does not even hear whether its proof would do: the endpoint shows that it knows the true token.
    assert_eq!(refused(&mut endpoint, 1), HandshakeError::Token);
    let (stream, _) = prove(&mut endpoint, 2, OFFER);
    speaks(&mut endpoint, &stream, 0);
    assert_eq!(refused(&mut endpoint, 3), HandshakeError::Token);
    speaks(&mut endpoint, &stream, 1);
    // The peer itself may set the same connection up anew.
    let (again, _) = prove(&mut endpoint, 4, OFFER);
    speaks(&mut endpoint, &again, 2);
}

#[test]
fn connections_of_an_unknown_peer_are_not_replaced_or_joined_by_another_of_that_name() {
    let mut endpoint = open();
    let (stream, _) = prove(&mut endpoint, 1, OFFER);
    for (nonce, stream) in [(2, OFFER.stream), (3, OFFER.stream + 1)] {
        let refused = prove_as(&liar(nonce), &mut endpoint, nonce, Offer { stream, ..OFFER });
        assert_eq!(refused.unwrap_err(), HandshakeError::Refused(Refusal::Token));
    }
    speaks(&mut endpoint, &stream, 0);
}

#[test]
fn a_peer_with_the_name_of_another_loses_it_when_that_one_is_named() {
    let mut endpoint = open();
    let (false_one, _) = prove_as(&liar(1), &mut endpoint, 1, OFFER).unwrap();
    assert_eq!(
        prove_as(&party(), &mut endpoint, 2, OFFER).unwrap_err(),
        HandshakeError::Refused(Refusal::Token),
        "the name is taken"
    );
    endpoint.meet(&peer());
    end(&mut endpoint, &false_one);
    let (stream, _) = prove(&mut endpoint, 3, OFFER);
    speaks(&mut endpoint, &stream, 0);
}

#[test]
fn a_stranger_with_invented_names_gets_a_bounded_number_and_named_peers_are_unaffected() {
    let mut endpoint = open();
    endpoint.meet(&peer());
    let made_up = |number: u32| {
        let mut token = [9; 16];
        token[..4].copy_from_slice(&number.to_le_bytes());
        let address = Address::new(Token(token), 1, Vec::new());
        Party { id: address.id, token: Token(token), ..party() }
    };
    let mut refused = 0;
    for number in 0..4100 {
        match prove_as(&made_up(number), &mut endpoint, 1, OFFER) {
            Ok(_) => assert_eq!(refused, 0),
            Err(error) => {
                assert_eq!(error, HandshakeError::Refused(Refusal::Crowded));
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 4);
    let (stream, _) = prove(&mut endpoint, 3, OFFER);
    speaks(&mut endpoint, &stream, 0);
}
