//! A peer that does as the test says: it speaks the protocol over sockets of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use fishplate_engine::wire::{Body, Header, MAX_HEADER_LEN};
use fishplate_engine::{Envelope, MessageSeq};
use fishplate_rails::address::Token;
use fishplate_rails::handshake::{HandshakeError, Initiator, Offer, Party, Step, Terms};
use fishplate_rails::{Address, Endpoint};

use super::until;

pub const OFFER: Offer = Offer { rail: 0, stream: 0, class: 0, grant: 1 << 20 };
/// The token of the peer that a test plays.
const PEER: Token = Token(*b"the peer's token");

/// Where the peer that a test plays would be reached.
pub fn peer() -> Address {
    Address::new(PEER, 1, vec![vec!["127.0.0.1".parse().unwrap()]])
}

/// The identity of that peer in handshakes.
pub fn party() -> Party {
    Party { id: peer().id, token: PEER, terms: Terms::default() }
}

pub fn knock(address: &Address) -> TcpStream {
    let port: SocketAddr = (address.rails[0][0], address.port).into();
    let stream = TcpStream::connect(port).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// The bytes that can be read; `None` at the end.
pub fn read(mut stream: &TcpStream) -> Option<Vec<u8>> {
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => None,
        Ok(got) => Some(bytes[..got].to_vec()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
        Err(_) => None,
    }
}

/// A connection of the peer that a test plays, who knows the token, and all that it has sent to prove it.
pub fn prove(endpoint: &mut Endpoint, nonce: u8, offer: Offer) -> (TcpStream, Vec<Vec<u8>>) {
    prove_as(&party(), endpoint, nonce, offer).unwrap()
}

/// As [`prove`] for any party that knows the token; or the refusal.
pub fn prove_as(
    party: &Party,
    endpoint: &mut Endpoint,
    nonce: u8,
    offer: Offer,
) -> Result<(TcpStream, Vec<Vec<u8>>), HandshakeError> {
    let address = endpoint.address().clone();
    let mut stream = knock(&address);
    let (mut initiator, hello) = Initiator::start(party, &address, [nonce; 16], offer, false).unwrap();
    stream.write_all(&hello).unwrap();
    let (mut sent, mut received) = (vec![hello], Vec::new());
    until(endpoint, |_| {
        received.extend(read(&stream).expect("it is closed"));
        match initiator.advance(&mut received) {
            Ok(Step::Wait) => None,
            Ok(Step::Send(proof)) => {
                stream.write_all(&proof).unwrap();
                sent.push(proof);
                None
            }
            Ok(Step::Done(_)) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    })?;
    Ok((stream, sent))
}

/// A frame, with `payload` bytes of its payload.
pub fn frame(body: Body, payload: usize) -> Vec<u8> {
    let mut bytes = [0; MAX_HEADER_LEN];
    let len = Header::without_acknowledgement(body).encode(&mut bytes);
    [&bytes[..len], &vec![7; payload]].concat()
}

pub fn eager(seq: u32, len: u32) -> Body {
    Body::Eager { seq: MessageSeq(seq), envelope: Envelope::Tagged(5), data: None, len, prompt: false }
}
