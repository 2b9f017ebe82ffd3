//! Encrypted endpoints of one process, with somebody in between who reads and changes what passes.

mod common;

use common::pair::Pair;
use common::told::{TOLD, listen, told};
use common::{pattern, recv, send, settings};
use fishplate_rails::Settings;
use fishplate_rails::streams::Streams;

fn pair(encryption: [bool; 2], streams: u8) -> Pair {
    listen();
    let streams = Streams::Fixed(streams);
    Pair::through(encryption.map(|encryption| Settings { encryption, streams, top: false, ..settings() }), false)
}

#[test]
fn messages_of_all_sizes_arrive_over_several_encrypted_streams() {
    let mut pair = pair([true; 2], 3);
    let sizes = [0, 1, 2047, 4096, 16_384 - 57, 16_384, 65_536, 65_537, 200_000, 1 << 20, 8 << 20];
    sizes.iter().zip(0..).for_each(|(len, seed)| pair.carry(&pattern(*len, seed)));
    // And back, over the same connections.
    let back = pattern(300_000, 9);
    let mut got = vec![0; back.len()];
    let from = pair.ends[0].address().clone();
    let to = pair.ends[1].peer(&from);
    recv(&mut pair.ends[0], 99, &mut got, None);
    send(&mut pair.ends[1], to, 99, &back).unwrap();
    assert!(pair.next().result.is_ok() && pair.next().result.is_ok());
    assert!(got == back, "the answer has arrived changed");
}

#[test]
fn nobody_in_between_reads_what_passes() {
    const SECRET: &[u8] = b"what nobody else is meant to read";
    let contains = |seen: &[u8], what: &[u8]| seen.windows(what.len()).any(|part| part == what);
    for encryption in [false, true] {
        let mut pair = pair([encryption; 2], 1);
        [1, 100, 10_000].into_iter().for_each(|copies| pair.carry(&SECRET.repeat(copies)));
        let (seen, token) = (&pair.between.seen, pair.ends[1].address().token.0);
        assert!(seen.len() > 10_000 * SECRET.len());
        assert_eq!(contains(seen, SECRET), !encryption);
        assert!(!contains(seen, &token), "the token has passed");
    }
}

#[test]
fn a_change_on_the_way_ends_the_connection_and_what_it_carried_arrives_over_another() {
    let mut pair = pair([true; 2], 2);
    pair.between.spoils = 3;
    (0..5).for_each(|seed| pair.carry(&pattern(300_000, seed)));
    // So the first ones did not last.
    assert!(pair.between.connections() > 3 && pair.between.spoilt() >= 3);
    let parts = ["peer ", "rail lo (127.0.0.1 to 127.0.0.1:", "an encrypted record was changed on its way"];
    assert!(told(&parts), "{TOLD:?}");
}

#[test]
fn one_side_that_encrypts_and_one_that_does_not_refuse_each_other_and_say_why() {
    for encryption in [[true, false], [false, true]] {
        let mut pair = pair(encryption, 1);
        let why = pair.refusal();
        let [here, there] = encryption.map(|on| if on { "on" } else { "off" });
        let reason = format!("FISHPLATE_ENCRYPTION is {there} at the peer and {here} at this side");
        assert!(why.contains("rail lo") && why.contains(&reason), "{why}");
        let reason = format!("was refused: FISHPLATE_ENCRYPTION is {here} at the peer and {there} at this side");
        assert!(told(&["a connection from 127.0.0.1:", &reason]), "{TOLD:?}");
    }
}
