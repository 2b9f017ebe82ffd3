//! Both halves of a link against each other, and against a peer that writes what it likes.

use proptest::prelude::*;

use crate::direction::{Direction, RECEIVER, SENDER};
use crate::layout::{BYTES, LEN, MAX_PAYLOAD, SLOTS, Word, describe, kind};
use crate::sender::NeverSent;

fn contents(len: usize, seed: u32) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(31) ^ at >> 8 ^ seed.wrapping_mul(7)) as u8).collect()
}

proptest! {
    /// Frames of all lengths, more than fit: each arrives once, whole, in order; and what was taken is counted right.
    #[test]
    fn every_frame_arrives_once_whole_and_in_order(
        lens in prop::collection::vec(prop_oneof![0usize..200, 0..MAX_PAYLOAD + 2, 0..2 * BYTES], 1..40),
        turns in prop::collection::vec(0u8..3, 0..200),
        reads in any::<bool>(),
        borrowed in any::<bool>(),
    ) {
        let mut link = Direction::new(reads);
        let frames: Vec<Vec<u8>> = lens.iter().zip(0..).map(|(len, seed)| contents(*len, seed)).collect();
        let mut last = None;
        let (mut sent, mut taken, mut acknowledged) = (0, 0, 0);
        let end = [1u8, 2].into_iter().cycle().take(40 * lens.len() + 100);
        let rest = std::iter::repeat_n(0, lens.len()).chain(end);
        for turn in turns.into_iter().chain(rest) {
            match turn {
                0 if sent < frames.len() => {
                    last = Some(link.push(sent as u32, &frames[sent], borrowed));
                    sent += 1;
                }
                1 => {
                    while let Some((seq, bytes)) = link.take().unwrap() {
                        prop_assert_eq!(seq as usize, taken);
                        prop_assert!(bytes == frames[taken], "frame {} of {} bytes", taken, bytes.len());
                        taken += 1;
                    }
                    link.receiver.publish();
                }
                2 => {
                    if let Some(frames) = link.flush().unwrap() {
                        acknowledged = frames as usize;
                        prop_assert!(acknowledged <= taken);
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!((sent, taken, acknowledged), (lens.len(), lens.len(), lens.len()));
        prop_assert!(!link.sender.has_untaken() && !link.sender.is_blocked());
        prop_assert!(!link.sender.has_lent(&last.unwrap()));
    }

    /// Whatever the peer writes, nothing comes out but bounded records or an error.
    #[test]
    fn a_peer_that_writes_anything_anywhere_is_found_out_or_harmless(
        start in prop::collection::vec(0usize..2 * BYTES, 0..6),
        writes in prop::collection::vec((0usize..LEN - 8, prop_oneof![any::<u64>(), 0u64..600, Just(u64::MAX)]), 1..60),
        in_slots in prop::collection::vec((0u32..6, 0usize..64, any::<u8>()), 0..60),
    ) {
        let mut link = Direction::new(true);
        let frames: Vec<Vec<u8>> = start.iter().map(|len| contents(*len, 1)).collect();
        for (frame, seq) in frames.iter().zip(0..) {
            link.push(seq, frame, false);
        }
        for (at, word) in writes {
            link.spoil(at, &word.to_le_bytes());
        }
        for (slot, at, byte) in in_slots {
            link.spoil(SENDER.slot(slot) + at, &[byte]);
        }
        let mut records = 0;
        while let Ok(Some((_, bytes))) = link.take() {
            prop_assert!(bytes.len() <= u32::MAX as usize);
            records += 1;
            prop_assert!(records <= SLOTS, "more than there can be");
        }
        let _ = link.flush();
    }
}

#[test]
fn a_peer_cannot_take_what_was_not_sent() {
    let mut link = Direction::new(false);
    link.push(0, b"one", false);
    for taken in [2, u32::MAX, 1 << 31] {
        link.spoil(RECEIVER.word(Word::Taken), &taken.to_le_bytes());
        assert_eq!(link.sender.poll_taken(), Err(NeverSent));
    }
    link.spoil(RECEIVER.word(Word::Taken), &1u32.to_le_bytes());
    assert_eq!(link.sender.poll_taken(), Ok(Some(1)));
}

#[test]
fn records_that_do_not_fit_their_header_are_refused() {
    let is_refused = |word: Option<u32>| {
        let mut link = Direction::new(true);
        link.push(0, &contents(100, 3), false);
        if let Some(word) = word {
            link.spoil(SENDER.slot(0) + 4, &word.to_le_bytes());
        }
        link.take().is_err()
    };
    assert!(!is_refused(None));
    assert!(is_refused(Some(describe(kind::FRAME, 145))), "one byte more than its payload");
    assert!(is_refused(Some(describe(kind::FRAME, 43))), "less than a header");
    assert!(is_refused(Some(describe(kind::FRAME, 44))), "a payload that never begins");
    assert!(is_refused(Some(describe(kind::FRAME, 0xff_ffff))), "longer than any");
    assert!(is_refused(Some(describe(kind::REST, 10))), "more of nothing");
    assert!(is_refused(Some(describe(kind::LENT, 50))), "half an address");
    assert!(is_refused(Some(describe(9, 144))), "no such kind");
}

#[test]
fn lent_memory_is_known_until_it_is_taken_and_not_read_once_the_sender_has_closed() {
    let mut link = Direction::new(true);
    let bytes = contents(100_000, 5);
    let payload = link.push(0, &bytes, false);
    let other = link.push(1, &[1; 10], false);
    assert!(link.sender.has_lent(&payload) && !link.sender.has_lent(&other));
    assert!(link.detach(&other) && !link.detach(&payload));
    assert!(link.take().unwrap().is_some_and(|(_, got)| got == bytes));
    link.receiver.publish();
    assert_eq!(link.sender.poll_taken(), Ok(Some(1)));
    assert!(!link.sender.has_lent(&payload));
    assert!(link.take().unwrap().is_some_and(|(seq, got)| seq == 1 && got == [1; 10]));
    link.push(2, &bytes, false);
    link.spoil(SENDER.word(Word::Closed), &1u32.to_le_bytes());
    assert!(link.take().is_err());
}

#[test]
fn sent_payloads_are_recovered_from_the_memory_where_they_wait() {
    let mut link = Direction::new(false);
    // Around both rings more than once.
    for round in 0..40 {
        let frames: Vec<Vec<u8>> = [0, 1, 12, 13, 5000, MAX_PAYLOAD].iter().map(|len| contents(*len, round)).collect();
        for (frame, at) in frames.iter().zip(0..) {
            link.push(round * 6 + at, frame, true);
        }
        assert!(!link.sender.is_blocked());
        for (frame, number) in frames.iter().zip(round * 6 + 1..) {
            let mut recovered = Vec::new();
            link.sender.recover(number, frame.len() as u64, &mut recovered);
            assert!(recovered == *frame, "frame {number} of {} bytes", frame.len());
        }
        while link.take().unwrap().is_some() {}
        link.receiver.publish();
        link.flush().unwrap();
    }
}
