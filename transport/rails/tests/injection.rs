//! Somebody on the side who puts one message into the connections of two endpoints, at every moment of their set-up: it costs
//! the connection that it came over, and nothing else.

mod common;

use std::time::{Duration, Instant};

use common::between::Injection;
use common::pair::Pair;
use common::settings;
use fishplate_rails::{Settings, WIRE_VERSION};

/// Two endpoints that reach each other through somebody else; `is_known`: the second end has been told of the first.
fn pair(encryption: bool, is_known: bool) -> Pair {
    Pair::through([(); 2].map(|()| Settings { encryption, top: false, ..settings() }), is_known)
}

/// A message gets there, and its sender knows.
fn carry(pair: &mut Pair) {
    pair.carry(&[5; 3000]);
}

/// Messages that anybody can make: of every kind, refusals of every reason, of other versions and lengths.
fn messages() -> Vec<(String, Vec<u8>)> {
    let preamble = |version: u16, kind: u8, code: u8| {
        let version = version.to_le_bytes();
        vec![b'F', b'i', b'P', b'l', version[0], version[1], kind, code]
    };
    let refusals = (0..=16).map(|code| (format!("refusal {code}"), preamble(WIRE_VERSION, 5, code)));
    let of_other = [("refusal by version 7", preamble(7, 5, 1)), ("hello of version 7", preamble(7, 1, 0))];
    let kinds = [1, 2, 3, 4, 6, 7].map(|kind| {
        let rest = vec![if kind == 6 { 0 } else { 0x5a }; 300];
        (format!("kind {kind}, not proven"), [preamble(WIRE_VERSION, kind, 4 * u8::from(kind == 7)), rest].concat())
    });
    let of_other = of_other.map(|(name, bytes)| (name.to_string(), bytes));
    let garbage = [("garbage".to_string(), b"GET / HTTP/1.1\r\n\r\n".to_vec())];
    refusals.chain(of_other).chain(kinds).chain(garbage).collect()
}

/// All messages before each one of the set-up, in both directions, on the first connection or on one that is set up anew.
fn inject_everywhere(encryption: bool, is_known: bool) {
    let mut slowest = (Duration::ZERO, String::new());
    for (name, bytes) in messages() {
        // Who was connected to takes all refusals for one.
        let directions: &[bool] = if name.starts_with("refusal 1") { &[false] } else { &[true, false] };
        let moments = directions.iter().flat_map(|to_acceptor| [(*to_acceptor, 0), (*to_acceptor, 1)]);
        for (to_acceptor, before) in moments {
            for is_again in [false, true] {
                let case = format!("{name} before message {before}, to the acceptor: {to_acceptor}, again: {is_again}");
                println!("{case}");
                let mut pair = pair(encryption, is_known);
                if is_again {
                    carry(&mut pair);
                    pair.between.cut();
                }
                pair.between.inject(Injection { to_acceptor, before, bytes: bytes.clone() });
                let start = Instant::now();
                carry(&mut pair);
                assert!(pair.between.is_injected(), "{case}: it was not put in");
                carry(&mut pair);
                slowest = std::cmp::max(slowest, (start.elapsed(), case));
            }
        }
    }
    println!("at most {slowest:?}");
}

/// Bytes that are put into a connection that carries messages, in either direction: what comes next is set up anew.
#[test]
fn bytes_injected_into_encrypted_traffic_end_that_connection() {
    // A length that no record has; one of a record that nobody sends; a whole record; a message of a set-up; half a megabyte.
    let cases: [(&str, Vec<u8>); 5] = [
        ("no length", vec![0, 0]),
        ("a length", vec![0xff, 0x3f]),
        ("a record", [vec![8, 0], vec![0x5a; 24]].concat()),
        ("a refusal", [b"FiPl".to_vec(), WIRE_VERSION.to_le_bytes().to_vec(), vec![5, 5]].concat()),
        ("much", vec![0x11; 1 << 19]),
    ];
    for (name, bytes) in cases {
        for to_acceptor in [true, false] {
            println!("{name}, to the acceptor: {to_acceptor}");
            let mut pair = pair(true, true);
            carry(&mut pair);
            pair.between.put_in(to_acceptor, &bytes);
            carry(&mut pair);
            carry(&mut pair);
        }
    }
}

#[test]
fn bytes_injected_into_an_encrypted_connection_end_that_connection() {
    inject_everywhere(true, false);
}

#[test]
fn bytes_injected_into_a_plain_connection_end_it_where_both_ends_know_each_other() {
    inject_everywhere(false, true);
}
