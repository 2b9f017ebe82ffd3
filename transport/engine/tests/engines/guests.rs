//! Peers that the user has not named: what they leave is bounded for all of them together.

use fishplate_engine::limits::{GUESTS_ANNOUNCED, GUESTS_ATOMICS, GUESTS_PART, MIN_GUEST_GRANT};
use fishplate_engine::wire::{Body, Header, ReceiveRef, SendRef};
use fishplate_engine::{
    Atomic, AtomicOperation, Config, Context, Datatype, Engine, Envelope, Instant, MessageSeq, Pattern,
    ProtocolViolation, RailId, RecvRequest, SubchannelId, VcId,
};

use crate::support::place;

const NOW: Instant = Instant(0);
const LEN: u32 = 4000;
/// What a message takes of a grant beside its payload.
const CHARGE: u64 = 128;

fn engine() -> Engine {
    Engine::new(Config { memory: 64 << 20, ..Config::default() })
}

fn guest(engine: &mut Engine) -> (VcId, SubchannelId) {
    let vc = engine.open_guest();
    (vc, engine.subchannel_up(vc, RailId(0), None, 1 << 20).unwrap())
}

/// Sends messages of one kind until the engine takes no more: how many it has taken.
fn flood(engine: &mut Engine, subchannel: SubchannelId, body: impl Fn(MessageSeq) -> Body) -> u64 {
    for seq in 0.. {
        let header = Header::without_acknowledgement(body(MessageSeq(seq)));
        match engine.handle_header(NOW, subchannel, &header) {
            Ok(_) if header.body.payload_len() > 0 => engine.payload_placed(NOW, subchannel),
            Ok(_) => {}
            Err(violation) => {
                let is_atomic = matches!(header.body, Body::Atomic { .. });
                assert_eq!(violation, if is_atomic { ProtocolViolation::Atomics } else { ProtocolViolation::Grant });
                return seq.into();
            }
        }
    }
    unreachable!("a guest has no bound");
}

fn eager(seq: MessageSeq) -> Body {
    Body::Eager { seq, envelope: Envelope::Tagged(1), data: None, len: LEN, prompt: false }
}

fn announced(seq: MessageSeq) -> Body {
    Body::RequestToSend { seq, envelope: Envelope::Tagged(1), data: None, total: 1 << 20, early: 0, send: SendRef(1) }
}

#[test]
fn a_flood_of_messages_by_many_names_is_bounded_and_counts_until_it_is_received() {
    let mut engine = engine();
    let names = 500;
    let mut taken = 0;
    for _ in 0..names {
        let (vc, subchannel) = guest(&mut engine);
        taken += flood(&mut engine, subchannel, eager);
        engine.lose(vc, "it has ended");
    }
    let most = (64 << 20) / GUESTS_PART + names * MIN_GUEST_GRANT;
    assert!(taken * (u64::from(LEN) + CHARGE) <= most, "{taken} messages");
    let first = |engine: &mut Engine| {
        let vc = engine.open_guest();
        let grant = engine.first_grant(vc);
        engine.lose(vc, "it has ended");
        grant
    };
    assert_eq!(first(&mut engine), MIN_GUEST_GRANT);
    // Others do not notice.
    let vc = engine.open();
    assert_eq!(engine.first_grant(vc), Config::default().grant);
    for at in 0..taken {
        engine.post_recv(RecvRequest::new(Pattern::tagged(1), place(1, LEN.into()), Context(at)));
        while engine.poll_memory().is_some() {}
        assert!(engine.poll_completion().is_some_and(|completion| completion.result.is_ok()), "message {at}");
    }
    assert_eq!(first(&mut engine), (64 << 20) / GUESTS_PART / 8);
}

#[test]
fn announcements_by_many_names_are_bounded_together_and_forgotten_with_their_names() {
    let mut engine = engine();
    for _ in 0..2 {
        let guests: Vec<_> = (0..20).map(|_| guest(&mut engine)).collect();
        let counts: Vec<u64> =
            guests.iter().map(|(_, subchannel)| flood(&mut engine, *subchannel, announced)).collect();
        let granted: u64 = guests.iter().map(|(vc, _)| engine.grant(*vc) / CHARGE).sum();
        let taken: u64 = counts.iter().sum();
        assert!(taken <= GUESTS_ANNOUNCED + 20 * 64 + granted, "{counts:?}");
        assert!(taken >= GUESTS_ANNOUNCED, "{counts:?}");
        // The last had what it was granted all the same.
        assert!(counts.iter().all(|count| *count >= 64), "{counts:?}");
        guests.iter().for_each(|(vc, _)| engine.lose(*vc, "it has ended"));
    }
}

/// Operations of which the first never comes: all wait, with 8000 bytes of operands each.
fn atomic(seq: MessageSeq) -> Body {
    let what = Atomic::new(AtomicOperation::Sum, Datatype::Uint64, false, 1000).unwrap();
    Body::Atomic { number: u64::from(seq.0) + 2, operation: ReceiveRef(1), key: 1, address: 0, what }
}

#[test]
fn operands_by_many_names_are_bounded_together_and_forgotten_with_their_names() {
    let mut engine = engine();
    let of_one = (1 << 20) / (8000 + CHARGE);
    for _ in 0..2 {
        let guests: Vec<_> = (0..100).map(|_| guest(&mut engine)).collect();
        let counts: Vec<u64> = guests.iter().map(|(_, subchannel)| flood(&mut engine, *subchannel, atomic)).collect();
        assert_eq!(counts[0], of_one);
        let bytes = counts.iter().sum::<u64>() * (8000 + CHARGE);
        assert!((GUESTS_ATOMICS * 9 / 10..=GUESTS_ATOMICS).contains(&bytes), "{counts:?}");
        // Who is named has what others have, and leaves what it had to the guests.
        let (named, unnamed) = (guests[0], guests[99]);
        engine.name_guest(named.0);
        assert_eq!(flood(&mut engine, unnamed.1, |seq| atomic(MessageSeq(seq.0 + 500))), of_one);
        guests.iter().for_each(|(vc, _)| engine.lose(*vc, "it has ended"));
    }
}

#[test]
fn a_guest_that_is_named_has_what_others_have() {
    let mut engine = engine();
    let guests: Vec<_> = (0..200).map(|_| guest(&mut engine)).collect();
    let (vc, subchannel) = guests[199];
    assert!(engine.grant(vc) < 1 << 20);
    engine.name_guest(vc);
    assert_eq!(engine.grant(vc), Config::default().grant);
    assert!(flood(&mut engine, subchannel, announced) >= 1 << 20);
}
