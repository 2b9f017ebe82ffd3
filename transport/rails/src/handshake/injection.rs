//! One message of an attacker, put into a handshake at each byte of it, in both directions: between two bytes, and in the
//! place of as many, as TCP takes what came first. It costs that connection at most.

use fishplate_engine::wire::VERSION;

use super::message::{MAX_MESSAGE_LEN, PREAMBLE_LEN, kind, preamble};
use super::tests::{OFFER, address, all, encrypted, party};
use super::*;
use crate::address::EndpointId;

/// A direction of a connection.
struct Pipe {
    passed: usize,
    /// Where something is put in, and what.
    injected: Option<(usize, Vec<u8>)>,
    /// It takes the place of as many bytes.
    replaces: bool,
    /// Bytes whose place it has taken.
    dropped: usize,
}

impl Pipe {
    /// Output for an input.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in bytes {
            out.extend(self.put_in());
            self.passed += 1;
            if self.dropped > 0 {
                self.dropped -= 1;
            } else {
                out.push(*byte);
            }
        }
        out.extend(self.put_in());
        out
    }

    fn put_in(&mut self) -> Vec<u8> {
        let passed = self.passed;
        let bytes = self.injected.take_if(|(at, _)| *at == passed).map(|(_, bytes)| bytes).unwrap_or_default();
        self.dropped += if self.replaces { bytes.len() } else { 0 };
        bytes
    }
}

/// How a handshake ended for both sides; `None`: it waits.
type Ends = [Option<Result<(), HandshakeError>>; 2];

/// A handshake over these pipes, to the acceptor and to the initiator.
fn meet(encryption: bool, mut pipes: [Pipe; 2]) -> Ends {
    let terms = encrypted(encryption);
    let (mut initiator, hello) = Initiator::start(&party(5, terms), &address(9, 9), [1; 16], OFFER, false).unwrap();
    let mut acceptor = Acceptor::new(party(9, terms), [2; 16]);
    let mut ends: Ends = [None, None];
    let (mut to_acceptor, mut to_initiator) = (pipes[0].pass(&hello), pipes[1].pass(&[]));
    loop {
        let mut has_moved = false;
        while ends[0].is_none() {
            match acceptor.advance(&mut to_acceptor, all) {
                Ok(Step::Wait) => break,
                Ok(Step::Send(bytes)) => to_initiator.extend(pipes[1].pass(&bytes)),
                Ok(Step::Done(proven)) => {
                    assert_eq!((proven.peer, proven.offer), (EndpointId(5), OFFER));
                    to_initiator.extend(pipes[1].pass(&acceptor.accept(77)));
                    ends[0] = Some(Ok(()));
                }
                Err(error) => {
                    let said = refusal_for(&error).map(|refusal| acceptor.refuse(refusal)).unwrap_or_default();
                    to_initiator.extend(pipes[1].pass(&said));
                    ends[0] = Some(Err(error));
                }
            }
            has_moved = true;
        }
        while ends[1].is_none() {
            match initiator.advance(&mut to_initiator) {
                Ok(Step::Wait) => break,
                Ok(Step::Send(bytes)) => to_acceptor.extend(pipes[0].pass(&bytes)),
                Ok(Step::Done(grant)) => {
                    assert_eq!(grant, 77);
                    ends[1] = Some(Ok(()));
                }
                Err(error) => ends[1] = Some(Err(error)),
            }
            has_moved = true;
        }
        if !has_moved {
            return ends;
        }
    }
}

/// Messages that any process can make: of every kind and with every code, too short, whole, and longer than any.
fn messages() -> Vec<Vec<u8>> {
    let kinds = [kind::HELLO, kind::CHALLENGE, kind::PROOF, kind::ACCEPT, kind::ADDRESSES, kind::PROVEN_REFUSE];
    let whole = |kind: u8| [preamble(kind, 0).to_vec(), vec![0; 2 * MAX_MESSAGE_LEN]].concat();
    let refusals = (0..=15).map(|code| preamble(kind::REFUSE, code).to_vec());
    let mut other = preamble(kind::HELLO, 0);
    other[4] = VERSION as u8 + 1;
    let bytes = [&[0][..], b"F", b"FiPl", b"GET / HTTP/1.1\r\n\r\n", &other].map(<[u8]>::to_vec);
    let of_kinds = kinds.into_iter().flat_map(|kind| [whole(kind)[..PREAMBLE_LEN].to_vec(), whole(kind)]);
    refusals.chain(bytes).chain(of_kinds).collect()
}

/// Each of the messages at each byte.
fn inject_everywhere(encryption: bool, messages: &[Vec<u8>]) {
    let lens = [200, 168];
    let mut ended = [0; 3];
    for bytes in messages {
        for direction in [0, 1] {
            for (at, replaces) in (0..=lens[direction]).flat_map(|at| [(at, false), (at, true)]) {
                let pipe = |is_it: bool| {
                    let injected = is_it.then(|| (at, bytes.clone()));
                    Pipe { passed: 0, injected, replaces, dropped: 0 }
                };
                let [_, initiator] = meet(encryption, [pipe(direction == 0), pipe(direction == 1)]);
                let case = || format!("{bytes:?} at {at} of direction {direction}, in its place: {replaces}");
                match initiator {
                    None => ended[0] += 1,
                    Some(Ok(())) => ended[1] += 1,
                    Some(Err(error)) => {
                        assert!(error.is_hint(), "{error:?} is believed: {}", case());
                        ended[2] += 1;
                    }
                }
            }
        }
    }
    assert!(ended.iter().all(|count| *count > 0), "{ended:?}");
}

#[test]
fn a_message_that_is_put_in_at_any_byte_costs_that_connection_alone() {
    inject_everywhere(false, &messages());
}

#[test]
fn the_same_where_both_encrypt() {
    let messages = messages();
    inject_everywhere(true, &[messages[5].clone(), messages[messages.len() - 1].clone()]);
}
