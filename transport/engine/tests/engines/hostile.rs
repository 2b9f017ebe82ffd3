//! A peer that sends anything, in any order: never a panic, nothing written after a receive has completed, memory
//! bounded, and every operation ends once.

mod attack;
mod victim;

use fishplate_engine::wire::{Access, Body, Header, ReceiveRef, Refusal, SendRef};
use fishplate_engine::{
    Atomic, AtomicOperation, Datatype, Envelope, Instant, MessageSeq, Pattern, Placement, ProtocolViolation, Space,
};

use crate::support::rng::Rng;
use attack::attack;
use victim::{ANNOUNCED, ATOMICS, GRANT, KEY, MEMORY_LEN, Victim};

const TAGGED: Space = Space::Tagged { tag: 1, ignore: 0 };

fn plain(body: Body) -> Header {
    Header::without_acknowledgement(body)
}

fn eager(seq: u32, len: u32, prompt: bool) -> Header {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(1));
    plain(Body::Eager { seq, envelope, data: None, len, prompt })
}

fn request(seq: u32, total: u64) -> Header {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(1));
    plain(Body::RequestToSend { seq, envelope, data: None, total, early: 0, send: SendRef(7) })
}

#[test]
fn any_headers_end_in_an_answer() {
    let mut steps = 0;
    let mut ends = [0; 9];
    for seed in 0..1000 {
        println!("seed {seed}");
        let (took, end) = attack(Rng(seed));
        steps += took;
        if let Some(end) = end {
            ends[end as usize] += 1;
        }
    }
    // Otherwise the headers are not good enough to get anywhere, or too good.
    assert!(steps > 60_000, "{steps}");
    assert!(ends[..6].iter().all(|count| *count > 2), "{ends:?}");
}

#[test]
fn a_message_that_is_copied_on_arrival_takes_no_stripes() {
    let mut victim = Victim::new(2);
    let pattern = Pattern { space: TAGGED, source: None };
    let (one, two) = (victim.subchannels[0], victim.subchannels[1]);
    assert!(matches!(victim.engine.handle_header(Instant(0), one, &eager(0, 100, true)), Ok(Placement::Bounce(_))));
    // Matched while its payload is on the way: the reassembly has the first key of its table.
    victim.recv(pattern, 100, None);
    let stripe = plain(Body::Stripe { receive: ReceiveRef(1 << 32), offset: 0, len: 50 });
    assert_eq!(victim.engine.handle_header(Instant(0), two, &stripe), Err(ProtocolViolation::Stripe));
}

#[test]
fn cts_frames_that_cannot_be_sent_are_bounded() {
    let mut victim = Victim::new(1);
    victim.recv(Pattern { space: TAGGED, source: None }, 100, Some(1));
    victim.engine.writable(victim.subchannels[0], 0);
    let send = |seq| victim.engine.handle_header(Instant(0), victim.subchannels[0], &request(seq, 0));
    let taken = (0..).map(send).take_while(Result::is_ok).count() as u64;
    assert_eq!(taken, GRANT / 128 + ANNOUNCED);
}

#[test]
fn early_data_of_a_message_that_announces_none_is_out_of_place() {
    let mut victim = Victim::new(2);
    let piece = plain(Body::EarlyData { seq: MessageSeq(0), offset: 0, len: 1000 });
    assert!(victim.engine.handle_header(Instant(0), victim.subchannels[0], &piece).is_ok());
    let answer = victim.engine.handle_header(Instant(0), victim.subchannels[1], &request(0, 100));
    assert_eq!(answer, Err(ProtocolViolation::Stripe));
}

#[test]
fn acknowledgements_for_a_peer_that_does_not_read_are_bounded_by_the_budget() {
    let mut victim = Victim::new(1);
    victim.recv(Pattern { space: TAGGED, source: None }, 100, Some(1));
    victim.engine.writable(victim.subchannels[0], 1000);
    let mut sent = 0;
    for seq in 0..10_000 {
        let now = Instant(u64::from(seq) * 20_000);
        victim.engine.handle_header(now, victim.subchannels[0], &eager(seq, 0, true)).unwrap();
        victim.engine.handle_timeout(now);
        sent += std::iter::from_fn(|| victim.engine.poll_transmit(now)).count();
    }
    assert!((1..=20).contains(&sent), "{sent}");
    victim.engine.writable(victim.subchannels[0], 1000);
    let last = victim.engine.poll_transmit(Instant(1_000_000_000)).unwrap();
    assert_eq!(last.header.ack, 10_000);
}

fn write(number: u64, key: u64, address: u64, len: u32) -> Header {
    plain(Body::Write { write: SendRef(7), key, address, data: None, number, len })
}

fn read(number: u64, key: u64, address: u64, len: u64) -> Header {
    plain(Body::Read { number, receive: ReceiveRef(7), key, address, len })
}

/// A body sent on subchannel `at`, without acknowledgements and credit.
fn bodies(victim: &mut Victim, at: usize) -> Vec<Body> {
    let now = Instant(1_000_000_000);
    victim.engine.handle_timeout(now);
    let sent: Vec<_> = std::iter::from_fn(|| victim.engine.poll_transmit(now)).collect();
    let sent = sent.iter().filter(|transmit| usize::from(transmit.subchannel.index) == at);
    sent.map(|transmit| transmit.header.body).collect()
}

fn atomic(number: u64, count: u32) -> Header {
    let what = Atomic::new(AtomicOperation::Sum, Datatype::Uint64, true, count).unwrap();
    plain(Body::Atomic { number, operation: ReceiveRef(7), key: KEY, address: 0, what })
}

#[test]
fn atomic_operations_of_a_peer_that_takes_no_answers_are_bounded() {
    let mut victim = Victim::new(1);
    victim.switch_memory();
    let mut take = |number| {
        let answer = victim.header(0, &atomic(number, 100));
        victim.place(0);
        victim.pump();
        answer
    };
    let taken = (1..).take_while(|number| take(*number).is_ok()).count() as u64;
    // Results that wait for the peer, and operations that wait for these.
    assert_eq!(taken, 2 * (ATOMICS / (800 + 128)));
    assert_eq!(take(taken + 1), Err(ProtocolViolation::Atomics));
}

#[test]
fn an_atomic_operation_that_runs_far_ahead_breaks_the_protocol() {
    let mut victim = Victim::new(1);
    assert!(victim.header(0, &atomic(8192, 1)).is_ok());
    victim.place(0);
    assert_eq!(victim.header(0, &atomic(8193, 1)), Err(ProtocolViolation::Atomics));
}

/// The name of the victim's first operation.
const FIRST: ReceiveRef = ReceiveRef(1 << 32);

fn add(fetches: bool) -> Atomic {
    Atomic::new(AtomicOperation::Sum, Datatype::Uint64, fetches, 1).unwrap()
}

#[test]
fn an_answer_to_an_atomic_operation_that_was_not_sent_breaks_the_protocol() {
    let refused = Body::Refused { what: Access::Read(FIRST), why: Refusal::Key };
    for (fetches, answer, end) in [
        (false, Body::Applied { operation: FIRST }, ProtocolViolation::Applied),
        (false, refused, ProtocolViolation::Refusal),
        (true, refused, ProtocolViolation::Refusal),
        (true, Body::Stripe { receive: FIRST, offset: 0, len: 8 }, ProtocolViolation::Stripe),
    ] {
        let mut victim = Victim::new(1);
        // No budget: it waits.
        victim.atomic(add(fetches));
        assert_eq!(victim.header(0, &plain(answer)), Err(end));
        victim.lose();
        let mut victim = Victim::new(1);
        victim.engine.writable(victim.subchannels[0], 1 << 20);
        victim.atomic(add(fetches));
        assert_eq!(victim.header(0, &plain(answer)), Ok(()));
        victim.place(0);
        victim.lose();
    }
}

#[test]
fn an_atomic_operation_that_comes_twice_is_applied_once() {
    let mut victim = Victim::new(1);
    victim.switch_memory();
    victim.engine.writable(victim.subchannels[0], 1 << 20);
    for repetition in 0..3 {
        let header = Header { repetition, ..atomic(1, 1) };
        victim.header(0, &header).unwrap();
        victim.place(0);
        let stripes = |body: &Body| matches!(body, Body::Stripe { .. });
        let answers = bodies(&mut victim, 0).into_iter().filter(stripes).count();
        assert_eq!(answers, usize::from(repetition == 0));
    }
}

#[test]
fn answers_to_a_peer_that_reads_and_never_acknowledges_are_bounded() {
    let mut victim = Victim::new(1);
    let replies = |victim: &mut Victim| {
        let sent = std::iter::from_fn(|| victim.engine.poll_transmit(Instant(0)));
        sent.filter(|transmit| transmit.header.body.is_counted()).count()
    };
    let mut sent = 0;
    let end = (1..).find_map(|number| {
        victim.engine.writable(victim.subchannels[0], 1 << 20);
        sent += replies(&mut victim);
        let answer = victim.header(0, &read(number, KEY, 0, 1));
        victim.header(0, &plain(Body::Ack)).unwrap();
        answer.err()
    });
    assert_eq!((end, sent), (Some(ProtocolViolation::Grant), 1 << 16));
    // Nothing is lost on one that acknowledges after all.
    victim.header(0, &Header { ack: 1 << 16, ..plain(Body::Ack) }).unwrap();
    let rest = replies(&mut victim) as u64;
    assert_eq!(rest, GRANT / 128 + ANNOUNCED);
}

#[test]
fn refusals_of_writes_to_a_peer_that_reads_and_never_acknowledges_are_bounded() {
    let mut victim = Victim::new(1);
    let end = (1..).find_map(|number| {
        victim.engine.writable(victim.subchannels[0], 1 << 20);
        while victim.engine.poll_transmit(Instant(0)).is_some() {}
        victim.header(0, &write(number, KEY, 0, 0)).err().map(|end| (number - 1, end))
    });
    assert_eq!(end, Some((1 << 18, ProtocolViolation::Writes)));
}

#[test]
fn accesses_out_of_place_are_refused_with_their_reason() {
    let mut victim = Victim::new(1);
    victim.switch_memory();
    victim.engine.writable(victim.subchannels[0], 1 << 20);
    let one = victim.subchannels[0];
    let bad = [
        (KEY + 1, 0, 1, Refusal::Key),
        (KEY, MEMORY_LEN, 1, Refusal::Bounds),
        (KEY, 0, MEMORY_LEN + 1, Refusal::Bounds),
        (KEY, u64::MAX, 2, Refusal::Bounds),
        (KEY, u64::MAX - 1, 1, Refusal::Bounds),
    ];
    for (number, (key, address, len, why)) in (1..).step_by(2).zip(bad) {
        let header = write(number, key, address, len as u32);
        assert_eq!(victim.engine.handle_header(Instant(0), one, &header), Ok(Placement::Discard));
        victim.engine.payload_placed(Instant(0), one);
        victim.engine.handle_header(Instant(0), one, &read(number + 1, key, address, len)).unwrap();
        let write = Body::Refused { what: Access::Write(SendRef(7)), why };
        let read = Body::Refused { what: Access::Read(ReceiveRef(7)), why };
        assert_eq!(bodies(&mut victim, 0), [write, read]);
    }
    assert!(matches!(victim.header(0, &write(100, KEY, 0, MEMORY_LEN as u32)), Ok(())));
    assert_eq!(victim.engine.handle_header(Instant(0), one, &read(101, KEY, 0, 0)), Err(ProtocolViolation::EmptyRead));
}

#[test]
fn a_write_over_one_subchannel_is_not_acknowledged_before_its_refusal() {
    let mut victim = Victim::new(1);
    let one = victim.subchannels[0];
    for number in 1..=3 {
        victim.engine.handle_header(Instant(0), one, &write(number, KEY, 0, 0)).unwrap();
    }
    victim.engine.writable(one, 1 << 20);
    let acks = std::iter::from_fn(|| victim.engine.poll_transmit(Instant(0))).map(|transmit| transmit.header.ack);
    assert_eq!(acks.collect::<Vec<_>>(), [0, 0, 3]);
}

#[test]
fn a_write_that_was_refused_in_memory_is_refused_again_when_it_comes_without_its_bytes() {
    let mut victim = Victim::new(2);
    victim.switch_memory();
    let [rail, memory] = victim.subchannels[..] else { unreachable!("two") };
    victim.engine.prefer(memory);
    assert!(victim.header(1, &write(1, KEY, MEMORY_LEN - 4, 10)).is_ok());
    victim.place(1);
    // The peer has seen the memory fail, this side has not.
    let again = Header { repetition: 1, ..write(1, KEY, MEMORY_LEN - 4, 0) };
    victim.header(0, &again).unwrap();
    victim.engine.subchannel_down(Instant(0), memory, "a test");
    victim.header(0, &again).unwrap();
    victim.engine.writable(rail, 1 << 20);
    let refused = Body::Refused { what: Access::Write(SendRef(7)), why: Refusal::Bounds };
    assert_eq!(bodies(&mut victim, 0), [refused; 2]);
}

#[test]
fn refusals_and_reads_for_a_peer_that_does_not_listen_are_bounded() {
    for (header, end, most) in [
        ((|number| write(number, KEY + 1, 0, 0)) as fn(u64) -> Header, ProtocolViolation::Writes, 1 << 16),
        (|number| read(number, KEY + 1, 0, 1), ProtocolViolation::Grant, GRANT / 128 + ANNOUNCED),
        (|number| read(number, KEY, 0, 1), ProtocolViolation::Grant, GRANT / 128 + ANNOUNCED),
    ] {
        let mut victim = Victim::new(1);
        victim.switch_memory();
        let one = victim.subchannels[0];
        let mut taken = 0;
        let answer = loop {
            match victim.engine.handle_header(Instant(0), one, &header(taken + 1)) {
                Ok(_) => taken += 1,
                Err(end) => break end,
            }
        };
        assert_eq!((answer, taken), (end, most));
    }
}

#[test]
fn a_payload_on_its_way_into_memory_that_ends_goes_nowhere() {
    let mut victim = Victim::new(2);
    victim.switch_memory();
    victim.header(1, &write(1, KEY, 0, 100)).unwrap();
    victim.header(0, &read(2, KEY, 0, 100)).unwrap();
    victim.switch_memory();
    victim.place(1);
    for at in 0..2 {
        victim.engine.writable(victim.subchannels[at], 1 << 20);
    }
    let refused = |what| Body::Refused { what, why: Refusal::Key };
    let now = Instant(1_000_000_000);
    let sent: Vec<_> = std::iter::from_fn(|| victim.engine.poll_transmit(now)).collect();
    let of = |body| sent.iter().find(|transmit| transmit.header.body == body).expect("a refusal");
    let write = of(refused(Access::Write(SendRef(7))));
    assert_eq!((write.subchannel, write.header.ack), (victim.subchannels[1], 1));
    of(refused(Access::Read(ReceiveRef(7))));
}
