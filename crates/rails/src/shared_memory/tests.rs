//! Both halves of a link against each other, and against a peer that writes what it likes.

use std::sync::Arc;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{BounceId, Envelope, Extent, MessageSeq, Payload, Placement, Region, Source};
use proptest::prelude::*;

use super::layout::{BYTES, LEN, MOST_PAYLOAD, SLOTS, Side, Word, kind};
use super::receiver::{BadRecord, Placed, Receiver};
use super::sender::{NeverSent, Places, Sender};
use crate::bounce_buffers::BounceBuffers;
use crate::sys::memory::UserMemory;
use crate::sys::shared_memory::SharedMemory;

const BOUNCE: BounceId = BounceId(0);

/// One direction of a link.
struct Link {
    shared: Arc<SharedMemory>,
    sender: Sender,
    receiver: Receiver,
    memory: UserMemory,
    bounces: BounceBuffers,
    /// Number of the frame that is coming.
    seq: u32,
}

impl Link {
    fn new(reads: bool) -> Link {
        let shared = Arc::new(SharedMemory::create(LEN).unwrap().0);
        shared.store(Side::Opener.word(Word::Reads), u32::from(reads), std::sync::atomic::Ordering::Relaxed);
        Link {
            sender: Sender::new(shared.clone(), Side::Creator),
            receiver: Receiver::new(shared.clone(), Side::Opener, reads.then_some(std::process::id() as i32)),
            shared,
            memory: UserMemory::of_test(),
            bounces: BounceBuffers::default(),
            seq: 0,
        }
    }

    fn push(&mut self, seq: u32, bytes: &[u8], is_borrowed: bool) {
        let source = Source::User(payload(bytes));
        let places = Places { memory: &self.memory, bounces: &self.bounces };
        self.sender.push(&header(seq, bytes.len() as u32), &source, is_borrowed, places);
    }

    fn flush(&mut self) -> Result<Option<u32>, NeverSent> {
        let taken = self.sender.look();
        self.sender.flush(Places { memory: &self.memory, bounces: &self.bounces });
        taken
    }

    /// The next frame that is whole: its number, and its payload.
    fn take(&mut self) -> Result<Option<(u32, Vec<u8>)>, BadRecord> {
        while let Some(record) = self.receiver.record()? {
            let mut from = 0;
            if record.kind != kind::REST {
                let (header, header_len) = self.receiver.header(&record)?;
                self.receiver.begin(&record, (&header, header_len), Placement::Bounce(BOUNCE), &mut self.bounces)?;
                from = header_len;
                if let Body::Eager { seq: MessageSeq(number), .. } = header.body {
                    self.seq = number;
                }
                if header.body.payload_len() == 0 {
                    self.receiver.finish(&record);
                    return Ok(Some((self.seq, Vec::new())));
                }
            }
            let placed = match record.kind {
                kind::LENT => self
                    .receiver
                    .place_lent(&record, from, &self.memory, &mut self.bounces)
                    .map_err(|_| BadRecord::Length(0))?,
                _ => self.receiver.place(&record, from, &self.memory, &mut self.bounces)?,
            };
            self.receiver.finish(&record);
            if let Placed::Whole(len) = placed {
                let bytes = self.bounces.get(BOUNCE).to_vec();
                assert_eq!(bytes.len() as u64, len);
                return Ok(Some((self.seq, bytes)));
            }
        }
        Ok(None)
    }
}

fn header(seq: u32, len: u32) -> Header {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(7));
    Header::without_acknowledgement(Body::Eager { seq, envelope, data: None, len, prompt: false })
}

fn payload(bytes: &[u8]) -> Payload {
    let region = Region(bytes.as_ptr().expose_provenance() as u64);
    Payload::One(Extent { region, offset: 0, len: bytes.len() as u64 })
}

fn contents(len: usize, seed: u32) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(31) ^ at >> 8 ^ seed.wrapping_mul(7)) as u8).collect()
}

proptest! {
    /// Frames of all lengths, more than fit: each arrives once, whole, in order; and what was taken is counted right.
    #[test]
    fn every_frame_arrives_once_whole_and_in_order(
        lens in prop::collection::vec(prop_oneof![0usize..200, 0..MOST_PAYLOAD + 2, 0..2 * BYTES], 1..40),
        turns in prop::collection::vec(0u8..3, 0..200),
        reads in any::<bool>(),
        borrowed in any::<bool>(),
    ) {
        let mut link = Link::new(reads);
        let mut frames: Vec<Vec<u8>> = lens.iter().zip(0..).map(|(len, seed)| contents(*len, seed)).collect();
        let expected = frames.clone();
        let (mut sent, mut taken, mut acknowledged) = (0, 0, 0);
        let end = [1u8, 2].into_iter().cycle().take(40 * lens.len() + 100);
        let rest = std::iter::repeat_n(0, lens.len()).chain(end);
        for turn in turns.into_iter().chain(rest) {
            match turn {
                0 if sent < frames.len() => {
                    link.push(sent as u32, &frames[sent], borrowed);
                    if borrowed {
                        frames[sent].fill(0);
                    }
                    sent += 1;
                }
                1 => {
                    while let Some((seq, bytes)) = link.take().unwrap() {
                        prop_assert_eq!(seq as usize, taken);
                        prop_assert!(bytes == expected[taken], "frame {} of {} bytes", taken, bytes.len());
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
        prop_assert!(!link.sender.has_untaken() && !link.sender.is_blocked() && !link.sender.has_lent(&payload(&expected[0])));
    }

    /// Whatever the peer writes, nothing comes out but bounded records or an error.
    #[test]
    fn a_peer_that_writes_anything_anywhere_is_found_out_or_harmless(
        start in prop::collection::vec(0usize..2 * BYTES, 0..6),
        writes in prop::collection::vec((0usize..LEN - 8, prop_oneof![any::<u64>(), 0u64..600, Just(u64::MAX)]), 1..60),
        in_slots in prop::collection::vec((0u32..6, 0usize..64, any::<u8>()), 0..60),
    ) {
        let mut link = Link::new(true);
        let frames: Vec<Vec<u8>> = start.iter().map(|len| contents(*len, 1)).collect();
        for (frame, seq) in frames.iter().zip(0..) {
            link.push(seq, frame, false);
        }
        for (at, word) in writes {
            link.shared.write(at, &word.to_le_bytes());
        }
        for (slot, at, byte) in in_slots {
            link.shared.write(Side::Creator.slot(slot) + at, &[byte]);
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
    let mut link = Link::new(false);
    link.push(0, b"one", false);
    for taken in [2, u32::MAX, 1 << 31] {
        link.shared.store(Side::Opener.word(Word::Taken), taken, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(link.sender.look(), Err(NeverSent));
    }
    link.shared.store(Side::Opener.word(Word::Taken), 1, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(link.sender.look(), Ok(Some(1)));
}

#[test]
fn records_that_do_not_fit_their_header_are_refused() {
    let is_refused = |change: &dyn Fn(&SharedMemory)| {
        let mut link = Link::new(true);
        link.push(0, &contents(100, 3), false);
        change(&link.shared);
        link.take().is_err()
    };
    let word = |kind: u32, len: usize| {
        move |shared: &SharedMemory| {
            shared.write(Side::Creator.slot(0) + 4, &super::layout::describe(kind, len).to_le_bytes());
        }
    };
    assert!(!is_refused(&|_| ()));
    assert!(is_refused(&word(kind::FRAME, 145)), "one byte more than its payload");
    assert!(is_refused(&word(kind::FRAME, 43)), "less than a header");
    assert!(is_refused(&word(kind::FRAME, 44)), "a payload that never begins");
    assert!(is_refused(&word(kind::FRAME, 0xff_ffff)), "longer than any");
    assert!(is_refused(&word(kind::REST, 10)), "more of nothing");
    assert!(is_refused(&word(kind::LENT, 50)), "half an address");
    assert!(is_refused(&word(9, 144)), "no such kind");
}

#[test]
fn lent_memory_is_known_until_it_is_taken_and_not_read_once_the_sender_has_closed() {
    let mut link = Link::new(true);
    let bytes = contents(100_000, 5);
    link.push(0, &bytes, false);
    assert!(link.sender.has_lent(&payload(&bytes[99_999..])) && !link.sender.has_lent(&payload(&[1; 10])));
    assert!(!link.sender.detach(&payload(&bytes), Places { memory: &link.memory, bounces: &link.bounces }));
    assert!(link.take().unwrap().is_some_and(|(_, got)| got == bytes));
    link.receiver.publish();
    assert_eq!(link.sender.look(), Ok(Some(1)));
    assert!(!link.sender.has_lent(&payload(&bytes)));
    link.push(1, &bytes, false);
    link.shared.store(Side::Creator.word(Word::Closed), 1, std::sync::atomic::Ordering::Relaxed);
    assert!(link.take().is_err());
}

#[test]
fn what_was_sent_is_recovered_from_where_it_waits() {
    let mut link = Link::new(false);
    // Around both rings more than once.
    for round in 0..40 {
        let frames: Vec<Vec<u8>> = [0, 1, 12, 13, 5000, MOST_PAYLOAD].iter().map(|len| contents(*len, round)).collect();
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
