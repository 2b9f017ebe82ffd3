//! Strangers and bad peers at the port of an endpoint: they get nowhere, and a peer that behaves does not notice.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use fishplate_engine::wire::{Body, Header, MAX_HEADER_LEN};
use fishplate_engine::{
    Context, Envelope, Extent, Failure, MessageSeq, Operation, Pattern, Payload, RecvRequest, Region, SendRequest,
    Space,
};
use fishplate_rails::address::EndpointId;
use fishplate_rails::handshake::{HandshakeError, Initiator, Offer, Refusal, Step};
use fishplate_rails::{Address, Endpoint, Settings};

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const OFFER: Offer = Offer { rail: 0, stream: 0, grant: 1 << 20 };
const STRANGER: EndpointId = EndpointId(0xBAD);

fn open() -> Endpoint {
    let settings = Settings { rails: vec!["lo".into()], ..Settings::default() };
    // SAFETY: the buffers of these tests outlive their operations.
    unsafe { Endpoint::open(&settings) }.unwrap()
}

fn extent(bytes: &[u8]) -> Payload {
    let region = Region(bytes.as_ptr().expose_provenance() as u64);
    Payload::One(Extent { region, offset: 0, len: bytes.len() as u64 })
}

fn knock(address: &Address) -> TcpStream {
    let port: SocketAddr = (address.rails[0], address.port).into();
    let stream = TcpStream::connect(port).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// What is there to read; `None` at the end.
fn read(mut stream: &TcpStream) -> Option<Vec<u8>> {
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => None,
        Ok(got) => Some(bytes[..got].to_vec()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
        Err(_) => None,
    }
}

/// Progresses `endpoint` until `done`.
fn until<T>(endpoint: &mut Endpoint, mut done: impl FnMut(&mut Endpoint) -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        endpoint.progress();
        if let Some(result) = done(endpoint) {
            return result;
        }
    }
    panic!("it does not come");
}

/// Two endpoints exchange a message.
fn exchange(from: &mut Endpoint, to: &mut Endpoint) {
    let vc = from.peer(to.address());
    let mut buffer = [0; 5];
    to.recv(RecvRequest {
        pattern: Pattern { space: Space::Tagged { tag: 1, ignore: 0 }, source: None },
        buffer: extent(&buffer),
        multi_min_free: None,
        notify: true,
        context: Context(1),
    });
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

/// A connection of somebody who knows the token, and all that this side has sent to prove it.
fn prove(endpoint: &mut Endpoint, nonce: u8) -> (TcpStream, Vec<Vec<u8>>) {
    let address = endpoint.address().clone();
    let mut stream = knock(&address);
    let (mut initiator, hello) = Initiator::start(STRANGER, &address, [nonce; 16], OFFER, false).unwrap();
    stream.write_all(&hello).unwrap();
    let (mut sent, mut received) = (vec![hello], Vec::new());
    until(endpoint, |_| {
        received.extend(read(&stream).expect("it is closed"));
        match initiator.advance(&mut received).unwrap() {
            Step::Wait => None,
            Step::Send(proof) => {
                stream.write_all(&proof).unwrap();
                sent.push(proof);
                None
            }
            Step::Done(_) => Some(()),
        }
    });
    (stream, sent)
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
    let (_proven, sent) = prove(&mut endpoint, 1);
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

/// A frame, with `payload` bytes of its payload.
fn frame(body: Body, payload: usize) -> Vec<u8> {
    let mut bytes = [0; MAX_HEADER_LEN];
    let len = Header { ack: 0, ack_delay_us: 0, credit: 0, repetition: 0, body }.encode(&mut bytes);
    [&bytes[..len], &vec![7; payload]].concat()
}

fn eager(seq: u32, len: u32) -> Body {
    Body::Eager { seq: MessageSeq(seq), envelope: Envelope::Tagged(5), data: None, len, prompt: false }
}

#[test]
fn a_proven_peer_that_breaks_the_protocol_loses_its_channel_and_nobody_else_does() {
    let cases = [
        ("more than it was granted", frame(eager(0, u32::MAX), 1000)),
        ("a sequence number out of range", frame(eager(u32::MAX / 2, 8), 8)),
        ("a sequence number out of range", frame(Body::Piece { seq: MessageSeq(u32::MAX / 2), offset: 0, len: 8 }, 8)),
        ("unknown frame kind 255", vec![255; 64]),
        ("bytes behind a frame that carries none", [&[5, 0, 0, 0, 255, 255, 255, 255][..], &[0; 8]].concat()),
    ];
    for (at, (why, bytes)) in cases.into_iter().enumerate() {
        let mut endpoint = open();
        let (mut stream, _) = prove(&mut endpoint, at as u8);
        let mut address = endpoint.address().clone();
        address.id = STRANGER;
        let source = Some(endpoint.peer(&address));
        let buffer = [0; 5];
        endpoint.recv(RecvRequest {
            pattern: Pattern { space: Space::Tagged { tag: 9, ignore: 0 }, source },
            buffer: extent(&buffer),
            multi_min_free: None,
            notify: true,
            context: Context(9),
        });
        stream.write_all(&bytes).unwrap();
        let completion = until(&mut endpoint, Endpoint::poll_completion);
        let Err(Failure::PeerLost(told)) = &completion.result else { panic!("{why}: {completion:?}") };
        assert!(told.contains("the peer broke the protocol") && told.contains(why), "{why}: {told}");
        end(&mut endpoint, &stream);
        exchange(&mut open(), &mut endpoint);
    }
}
