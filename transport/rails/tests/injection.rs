//! Somebody on the side who puts one message into the connections of two endpoints, at every moment of their set-up: it costs
//! the connection that it came over, and nothing else.

mod between;
mod requests;

use std::time::{Duration, Instant};

use between::{Between, Injection};
use fishplate_engine::{Context, Envelope, SendRequest, VcId};
use fishplate_rails::{Endpoint, Settings, WIRE_VERSION};
use requests::{extent, recv};

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two endpoints that reach each other through somebody else.
struct Pair {
    ends: [Endpoint; 2],
    to: VcId,
    between: Between,
    tag: u64,
}

impl Pair {
    /// `is_known`: the second end has been told of the first.
    fn open(encryption: bool, is_known: bool) -> Pair {
        let settings =
            Settings { rails: vec!["lo".into()], encryption, shared_memory: false, top: false, ..Settings::default() };
        // SAFETY: the buffers of these tests outlive their operations.
        let mut ends = [(); 2].map(|()| unsafe { Endpoint::open(&settings) }.unwrap());
        let mut between = Between::default();
        let ways = [0, 1].map(|end| between.way_to(ends[end].address()));
        if is_known {
            ends[1].peer(&ways[0]);
        }
        let to = ends[0].peer(&ways[1]);
        Pair { ends, to, between, tag: 0 }
    }

    /// A message gets there, and its sender knows.
    fn carry(&mut self, case: &str) {
        self.tag += 1;
        let (tag, bytes) = (self.tag, vec![self.tag as u8; 3000]);
        let mut got = vec![0; bytes.len()];
        recv(&mut self.ends[1], tag, &mut got, None);
        let (vc, envelope, payload, context) = (self.to, Envelope::Tagged(tag), extent(&bytes), Context(tag));
        let send = SendRequest { vc, envelope, data: None, payload, inject: false, notify: true, context };
        self.ends[0].send(send).unwrap();
        let (start, mut missing) = (Instant::now(), 2);
        while missing > 0 {
            assert!(start.elapsed() < PATIENCE, "nothing comes: {case}");
            self.between.pass();
            for end in &mut self.ends {
                end.progress();
                while let Some(completion) = end.poll_completion() {
                    assert!(completion.result.is_ok(), "{case}: {completion:?}");
                    missing -= 1;
                }
            }
        }
        assert!(std::hint::black_box(got) == bytes, "{case}: it has arrived changed");
    }
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
                let mut pair = Pair::open(encryption, is_known);
                if is_again {
                    pair.carry(&case);
                    pair.between.cut();
                }
                pair.between.inject(Injection { to_acceptor, before, bytes: bytes.clone() });
                let start = Instant::now();
                pair.carry(&case);
                assert!(pair.between.is_injected(), "{case}: it was not put in");
                pair.carry(&case);
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
            let case = format!("{name}, to the acceptor: {to_acceptor}");
            let mut pair = Pair::open(true, true);
            pair.carry(&case);
            pair.between.put_in(to_acceptor, &bytes);
            pair.carry(&case);
            pair.carry(&case);
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
