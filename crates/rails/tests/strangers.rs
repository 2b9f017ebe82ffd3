//! Strangers and bad peers at the port of an endpoint: they get nowhere, and a peer that behaves does not notice. One that
//! says goodbye is let go.

mod common;
mod requests;

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};

use common::{OFFER, STRANGER, eager, frame, knock, prove, read, until};
use fishplate_engine::wire::Body;
use fishplate_engine::{Context, Envelope, Failure, MessageSeq, Operation, SendRequest};
use fishplate_rails::handshake::{HandshakeError, Initiator, Offer, Refusal, Step};
use fishplate_rails::{Endpoint, Settings};
use requests::{extent, recv};

fn open() -> Endpoint {
    common::open(Settings::default())
}

/// Two endpoints exchange a message.
fn exchange(from: &mut Endpoint, to: &mut Endpoint) {
    let vc = from.peer(to.address());
    let mut buffer = [0; 5];
    recv(to, 1, &mut buffer, None);
    let (envelope, data, context) = (Envelope::Tagged(1), None, Context(2));
    let payload = extent(b"hello");
    from.send(SendRequest { vc, envelope, data, payload, inject: true, notify: false, context }).unwrap();
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
    let (mut initiator, _) = Initiator::start(STRANGER, &address, [1; 16], OFFER, false).unwrap();
    assert!(matches!(initiator.advance(&mut said), Ok(Step::Send(_))));
    assert_eq!(initiator.advance(&mut said), Err(HandshakeError::Refused(Refusal::Token)));
    exchange(&mut open(), &mut endpoint);
}

#[test]
fn more_than_a_handshake_has_is_not_kept_but_ends_the_connection() {
    let mut endpoint = open();
    let address = endpoint.address().clone();
    let (_, hello) = Initiator::start(STRANGER, &address, [1; 16], OFFER, false).unwrap();
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
    let (_, hello) = Initiator::start(STRANGER, &address, [1; 16], OFFER, false).unwrap();
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
        let mut address = endpoint.address().clone();
        address.id = STRANGER;
        let source = Some(endpoint.peer(&address));
        let mut buffer = [0; 5];
        recv(&mut endpoint, 9, &mut buffer, source);
        stream.write_all(&bytes).unwrap();
        let completion = until(&mut endpoint, Endpoint::poll_completion);
        let Err(Failure::PeerLost(told)) = &completion.result else { panic!("{why}: {completion:?}") };
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
