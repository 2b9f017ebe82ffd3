//! One-sided operations between endpoints of one process that share memory: the target makes no call.

mod common;

use common::pair::Pair;
use common::sharing::{bells, sent_over};
use common::{pattern, until};
use fishplate_engine::{
    Completion, Context, Extent, Failure, Operation, Payload, ReadRequest, Refusal, Region, Registration, Remote,
    WriteRequest,
};
use fishplate_link_core::payload_of;

/// Lengths around those at which something else is done.
const LENS: [usize; 9] = [1, 8, 4000, 8192, 65_536, 524_287, 524_288, 524_289, 3 << 20];
/// The memory of the target.
const LEN: usize = 4 << 20;
/// How peers call the address of its first byte.
const BASE: u64 = 1 << 40;

fn registration(key: u64, memory: &[u8]) -> Registration {
    Registration { key, memory: payload_of(memory), base: BASE, readable: true, writable: true }
}

impl Pair {
    fn write(&mut self, (key, address): (u64, u64), payload: Payload, inject: bool) {
        let request = WriteRequest::new(self.name(0), Remote { key, address }, payload, Context(1));
        self.ends[0].write(WriteRequest { inject, ..request }).unwrap();
    }

    fn read(&mut self, (key, address): (u64, u64), buffer: Payload) {
        let (vc, from, context) = (self.name(0), Remote { key, address }, Context(2));
        self.ends[0].read(ReadRequest { vc, from, buffer, notify: true, context }).unwrap();
    }

    /// What the origin's next completion says: it is there already.
    fn ended_at_once(&mut self) -> Completion {
        self.ends[0].poll_completion().expect("the operation waits for its target")
    }

    /// What it says once it comes, with the target's doing.
    fn ended(&mut self) -> Result<(), Failure> {
        let [origin, target] = &mut self.ends;
        let ended = origin.poll_completion().unwrap_or_else(|| {
            until(origin, |origin| {
                target.progress();
                origin.poll_completion()
            })
        });
        ended.result
    }
}

#[test]
fn the_target_makes_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut pair = Pair::sharing([true; 2], Some(&stats));
    let target = vec![0u8; LEN];
    pair.ends[1].register(registration(7, &target)).unwrap();
    for (len, at) in LENS.into_iter().zip([0, 5, 4096, 777, 1 << 20, 1, 0, 3, LEN as u64 - (3 << 20)]) {
        let sent = pattern(len, at as u8);
        pair.write((7, BASE + at), payload_of(&sent), len < 16384);
        let completion = pair.ended_at_once();
        assert_eq!((completion.operation, completion.len, completion.result), (Operation::Write, len as u64, Ok(())));
        assert!(std::hint::black_box(&target)[at as usize..][..len] == sent, "{len} bytes written");
        let got = vec![0u8; len];
        pair.read((7, BASE + at), payload_of(&got));
        let completion = pair.ended_at_once();
        assert_eq!((completion.operation, completion.len, completion.result), (Operation::Read, len as u64, Ok(())));
        assert!(std::hint::black_box(got) == sent, "{len} bytes read");
    }
    pair.close();
    assert!(sent_over(&stats, "shm") >= LENS.iter().sum::<usize>() as u64);
    assert!(sent_over(&stats, "lo") < 1000);
}

#[test]
fn memory_of_the_origin_may_have_many_pieces() {
    let mut pair = Pair::sharing([true; 2], None);
    let (sent, got, target) = (pattern(400_000, 1), vec![0u8; 400_000], vec![0u8; 200_000]);
    pair.ends[1].register(registration(1, &target)).unwrap();
    let pieces = |bytes: &[u8]| {
        let region = Region(bytes.as_ptr().expose_provenance() as u64);
        Payload::Many((0..40).map(|at| Extent { region, offset: at * 10_000, len: 5000 }).collect())
    };
    pair.write((1, BASE), pieces(&sent), false);
    assert_eq!(pair.ended_at_once().result, Ok(()));
    pair.read((1, BASE), pieces(&got));
    assert_eq!(pair.ended_at_once().result, Ok(()));
    let (got, target) = (std::hint::black_box(got), std::hint::black_box(target));
    for (at, (sent, got)) in sent.chunks(5000).zip(got.chunks(5000)).enumerate() {
        if at % 2 == 0 {
            assert!(sent == got && sent == &target[at / 2 * 5000..][..5000], "piece {at}");
        } else {
            assert!(got.iter().all(|byte| *byte == 0), "piece {at} is none");
        }
    }
    pair.close();
}

#[test]
fn forbidden_accesses_are_refused_and_touch_no_memory() {
    let mut pair = Pair::sharing([true; 2], None);
    let (target, sent) = (vec![1u8; 1000], vec![2u8; 1001]);
    pair.ends[1].register(Registration { writable: false, ..registration(1, &target) }).unwrap();
    pair.ends[1].register(Registration { readable: false, ..registration(2, &target) }).unwrap();
    for (key, address, len, why) in [
        (1, BASE, 8, Refusal::Rights),
        (2, BASE - 1, 8, Refusal::Bounds),
        (2, BASE + 1, 1000, Refusal::Bounds),
        (2, u64::MAX - 3, 8, Refusal::Bounds),
        (3, BASE, 8, Refusal::Key),
    ] {
        pair.write((key, address), payload_of(&sent[..len]), false);
        assert_eq!(pair.ended(), Err(Failure::Refused(why)), "a write of {len} at {address:x} under {key}");
    }
    for (key, address, len, why) in
        [(2, BASE, 8, Refusal::Rights), (1, BASE, 1001, Refusal::Bounds), (3, BASE, 8, Refusal::Key)]
    {
        pair.read((key, address), payload_of(&sent[..len]));
        assert_eq!(pair.ended(), Err(Failure::Refused(why)), "a read of {len} at {address:x} under {key}");
    }
    assert!(std::hint::black_box(&target).iter().all(|byte| *byte == 1));
    // Both may be used again, by the rules.
    pair.write((2, BASE + 992), payload_of(&sent[..8]), false);
    assert_eq!(pair.ended_at_once().result, Ok(()));
    pair.close();
}

#[test]
fn memory_whose_registration_has_ended_is_refused_and_a_new_one_counts() {
    let mut pair = Pair::sharing([true; 2], None);
    let (first, second, sent) = (vec![1u8; 100], vec![1u8; 100], vec![2u8; 100]);
    for round in 0..200 {
        let target = if round % 2 == 0 { &first } else { &second };
        pair.ends[1].register(registration(5, target)).unwrap();
        pair.write((5, BASE), payload_of(&sent), true);
        assert_eq!(pair.ended_at_once().result, Ok(()));
        assert!(pair.ends[1].deregister(5));
        pair.write((5, BASE), payload_of(&sent), true);
        assert_eq!(pair.ended(), Err(Failure::Refused(Refusal::Key)));
    }
    assert!(std::hint::black_box(first) == sent && std::hint::black_box(second) == sent);
    pair.close();
}

#[test]
fn accesses_without_a_slot_or_in_pieces_go_by_frames() {
    let mut pair = Pair::sharing([true; 2], None);
    let target = vec![0u8; 8 * 100];
    let (sent, got) = (pattern(8, 9), [0u8; 8]);
    (0..99).for_each(|key| pair.ends[1].register(registration(key, &target[key as usize * 8..][..8])).unwrap());
    let region = Region(target.as_ptr().expose_provenance() as u64);
    let pieces = [792, 796].map(|offset| Extent { region, offset, len: 4 });
    pair.ends[1].register(Registration { memory: Payload::Many(pieces.into()), ..registration(99, &target) }).unwrap();
    for key in 0..100 {
        pair.write((key, BASE), payload_of(&sent), false);
        assert_eq!(pair.ended(), Ok(()), "{key}");
        pair.read((key, BASE), payload_of(&got));
        assert_eq!(pair.ended(), Ok(()), "{key}");
        assert_eq!(std::hint::black_box(&got)[..], sent);
    }
    assert!(std::hint::black_box(&target).chunks(8).all(|part| part == sent));
    (0..99).for_each(|key| assert!(pair.ends[1].deregister(key)));
    pair.close();
}

#[test]
fn immediate_data_arrive_and_waiting_completions_are_not_overtaken() {
    let mut pair = Pair::sharing([true; 2], None);
    let (target, sent) = (vec![0u8; 100], pattern(100, 3));
    pair.ends[1].register(registration(7, &target)).unwrap();
    let to = Remote { key: 7, address: BASE };
    let request = WriteRequest::new(pair.name(0), to, payload_of(&sent), Context(3));
    pair.ends[0].write(WriteRequest { data: Some(42), ..request }).unwrap();
    assert!(pair.ends[0].poll_completion().is_none(), "the target is not notified");
    // This one would come first.
    let later = pattern(100, 4);
    pair.write((7, BASE), payload_of(&later), false);
    assert!(pair.ends[0].poll_completion().is_none(), "it has overtaken the other");
    assert_eq!((pair.ended(), pair.ended()), (Ok(()), Ok(())));
    assert!(std::hint::black_box(&target) == &later);
    let told = pair.ends[1].poll_completion().unwrap();
    assert_eq!((told.operation, told.data), (Operation::RemoteWrite, Some(42)));
    pair.close();
}

#[test]
fn without_shared_memory_operations_wait_for_their_target() {
    let mut pair = Pair::sharing([true, false], None);
    assert_eq!(bells().len(), 0);
    let (target, sent) = (vec![0u8; 100], pattern(100, 3));
    pair.ends[1].register(registration(7, &target)).unwrap();
    pair.write((7, BASE), payload_of(&sent), false);
    assert!(pair.ends[0].poll_completion().is_none());
    assert_eq!(pair.ended(), Ok(()));
    assert!(std::hint::black_box(target) == sent);
    pair.close();
}
