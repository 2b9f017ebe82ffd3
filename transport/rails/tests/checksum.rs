//! Endpoints of one process whose frames have checksums, with somebody in between who changes bits of what passes.

mod common;

use common::pair::Pair;
use common::told::{TOLD, listen, told};
use common::{pattern, recv, send, settings};
use fishplate_engine::{Context, ReadRequest, Registration, Remote, WriteRequest};
use fishplate_link_core::payload_of;
use fishplate_rails::Settings;
use fishplate_rails::streams::Streams;

fn pair(checksum: [bool; 2], streams: u8) -> Pair {
    listen();
    let streams = Streams::Fixed(streams);
    Pair::through(checksum.map(|checksum| Settings { checksum, streams, top: false, ..settings() }), false)
}

const SIZES: [usize; 14] =
    [0, 1, 8, 2047, 2049, 4095, 4096, 5000, 16_384, 65_537, 200_000, 1 << 20, 3_000_001, 8 << 20];

#[test]
fn messages_of_all_sizes_arrive_over_several_streams_with_checksums() {
    let mut pair = pair([true; 2], 3);
    SIZES.iter().zip(0..).for_each(|(len, seed)| pair.carry(&pattern(*len, seed)));
    assert_eq!(pair.between.connections(), 3, "none was set up again");
}

#[test]
fn changed_frames_are_found_reported_and_retransmitted() {
    let mut pair = pair([true; 2], 2);
    pair.between.spoils_one_in = 300_000;
    SIZES.iter().zip(0..).for_each(|(len, seed)| pair.carry(&pattern(*len, seed)));
    let (spoilt, connections) = (pair.between.spoilt(), pair.between.connections());
    assert!(spoilt > 10 && connections > 10, "{spoilt} bits, {connections} connections");
    let parts = ["peer ", "rail lo (127.0.0.1 to 127.0.0.1:", "a frame was changed on its way: its checksum is wrong"];
    assert!(told(&parts) && told(&["frames changed on this rail so far: 2"]), "{TOLD:?}");
}

#[test]
fn memory_that_changes_while_it_is_accessed_is_no_frame_that_was_changed() {
    let mut pair = pair([true; 2], 2);
    pair.carry(b"known");
    let (mut target, origin, got) = (vec![0u8; 4 << 20], vec![7u8; 4 << 20], vec![0u8; 4 << 20]);
    let memory = payload_of(&target);
    pair.ends[1].register(Registration { key: 7, memory, base: 0, readable: true, writable: true }).unwrap();
    let (vc, at, buffer) = (pair.name(0), Remote { key: 7, address: 0 }, payload_of(&got));
    pair.ends[0].read(ReadRequest { vc, from: at, buffer, notify: true, context: Context(1) }).unwrap();
    pair.ends[0].write(WriteRequest::new(vc, at, payload_of(&origin), Context(2))).unwrap();
    common::until_ended(&mut pair.ends, 2, || {
        pair.between.pass();
        std::hint::black_box(&mut target).iter_mut().step_by(512).for_each(|byte| *byte = byte.wrapping_add(1));
    });
    assert_eq!(pair.between.connections(), 2, "{TOLD:?}");
}

#[test]
fn without_checksums_nobody_notices() {
    let mut pair = pair([false; 2], 1);
    let sent = vec![0; 1 << 20];
    pair.carry(&sent);
    // Headers are a small part: the changed bytes are payload.
    pair.between.spoils_one_in = 200_000;
    let (to, mut got) = (pair.name(0), vec![0; sent.len()]);
    recv(&mut pair.ends[1], 2, &mut got, None);
    send(&mut pair.ends[0], to, 2, &sent).unwrap();
    let ended = [pair.next(), pair.next()];
    assert!(ended.iter().all(|completion| completion.result.is_ok()), "{ended:?}");
    assert_eq!(got.iter().filter(|byte| **byte != 0).count(), pair.between.spoilt());
    assert!(pair.between.spoilt() > 0);
}

#[test]
fn sides_that_do_not_agree_on_checksums_refuse_each_other_and_say_why() {
    for checksum in [[true, false], [false, true]] {
        let mut pair = pair(checksum, 1);
        let why = pair.refusal();
        let [here, there] = checksum.map(|on| if on { "on" } else { "off" });
        let reason = format!("FISHPLATE_CHECKSUM is {there} at the peer and {here} at this side");
        assert!(why.contains("rail lo") && why.contains(&reason), "{why}");
    }
}
