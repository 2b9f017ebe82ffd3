//! One direction of a link with both of its ends in this process, for tests and for hostile input (`fuzz/`): what is sent
//! at one end is taken at the other, and between the two a test may write anything.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{BounceId, Envelope, MessageSeq, Payload, Placement, Source};
use fishplate_link_core::{BounceBuffers, Places, UserMemory, payload_of};

use crate::layout::{LEN, NONCE_AT, NONCE_LEN, Side, Word, kind};
use crate::receiver::{BadRecord, Placed, Receiver, Record};
use crate::sender::{NeverSent, Sender};
use crate::sys::process_memory::{Known, Process};
use crate::sys::shared_memory::SharedMemory;

/// The side that sends.
pub const SENDER: Side = Side::Creator;
/// The side that receives.
pub const RECEIVER: Side = Side::Opener;
/// Longest payload that is received, in bytes: an engine grants no more than it has room for.
pub const MAX_RECEIVED_LEN: u32 = 192 << 10;
/// Where payloads are received.
const BOUNCE: BounceId = BounceId(0);

/// One direction of a link.
pub struct Direction {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    shared: Arc<SharedMemory>,
    memory: UserMemory,
    bounces: BounceBuffers,
    /// Payloads sent so far: lent ones must stay valid.
    sent: Vec<Box<[u8]>>,
    /// Number of the frame that is coming.
    seq: u32,
}

/// Why nothing more can be taken.
#[derive(Debug)]
pub enum Ended {
    /// The peer has broken the protocol.
    Bad(BadRecord),
    /// Memory lent by the peer cannot be read.
    Unreadable,
    /// There is not enough space.
    TooLong,
}

impl Direction {
    /// A new link. `reads`: long payloads are lent.
    pub fn new(reads: bool) -> Direction {
        let shared = Arc::new(SharedMemory::create(LEN).expect("memory for a link").0);
        let mark_at = shared.address() + NONCE_AT as u64;
        let process = Process::find(std::process::id() as i32, mark_at, [0; NONCE_LEN]).filter(|_| reads);
        shared.store(RECEIVER.word(Word::Reads), u32::from(reads), Ordering::Relaxed);
        Direction {
            sender: Sender::new(shared.clone(), SENDER),
            receiver: Receiver::new(shared.clone(), RECEIVER, process),
            shared,
            memory: UserMemory::of_test(),
            bounces: BounceBuffers::default(),
            sent: Vec::new(),
            seq: 0,
        }
    }

    /// Sends frame number `seq`. With `is_borrowed` its payload changes right after that. Where the payload is.
    pub fn push(&mut self, seq: u32, bytes: &[u8], is_borrowed: bool) -> Payload {
        let mut own: Box<[u8]> = bytes.into();
        let payload = payload_of(&own);
        let (len, envelope) = (bytes.len() as u32, Envelope::Tagged(7));
        let body = Body::Eager { seq: MessageSeq(seq), envelope, data: None, len, prompt: false };
        let places = Places { memory: &self.memory, bounces: &self.bounces };
        let source = Source::User(payload.clone());
        self.sender.push(&Header::without_acknowledgement(body), &source, is_borrowed, places);
        if is_borrowed {
            own.fill(0);
        }
        self.sent.push(own);
        payload
    }

    /// Looks how many frames were taken, and sends what waits.
    pub fn flush(&mut self) -> Result<Option<u32>, NeverSent> {
        let taken = self.sender.poll_taken()?;
        self.sender.flush(Places { memory: &self.memory, bounces: &self.bounces });
        Ok(taken)
    }

    /// The memory of a payload ends.
    pub fn detach(&mut self, ended: &Payload) -> bool {
        self.sender.detach(ended, Places { memory: &self.memory, bounces: &self.bounces })
    }

    /// The next frame that is whole: its number, and its payload.
    pub fn take(&mut self) -> Result<Option<(u32, Vec<u8>)>, Ended> {
        while let Some(record) = self.receiver.record().map_err(Ended::Bad)? {
            let mut from = 0;
            if record.kind != kind::REST {
                let (header, header_len) = self.receiver.header(&record).map_err(Ended::Bad)?;
                if header.body.payload_len() > MAX_RECEIVED_LEN {
                    return Err(Ended::TooLong);
                }
                if let Some(taken) = self.take_whole(&record, &header, header_len) {
                    self.receiver.finish(&record);
                    return Ok(Some(taken));
                }
                let begun =
                    self.receiver.begin(&record, &header, header_len, Placement::Bounce(BOUNCE), &mut self.bounces);
                begun.map_err(Ended::Bad)?;
                from = header_len;
                if let Body::Eager { seq: MessageSeq(number), .. } = header.body {
                    self.seq = number;
                }
                if header.body.payload_len() == 0 {
                    self.receiver.finish(&record);
                    return Ok(Some((self.seq, Vec::new())));
                }
            }
            let Direction { receiver, memory, bounces, .. } = self;
            let placed = match record.kind {
                kind::LENT => {
                    receiver.place_lent(&record, Known::ByMark, from, memory, bounces).map_err(|_| Ended::Unreadable)?
                }
                _ => receiver.place(&record, from, memory, bounces).map_err(Ended::Bad)?,
            };
            self.receiver.finish(&record);
            if let Placed::Whole(len) = placed {
                let bytes = self.bounces.get(BOUNCE).to_vec();
                assert_eq!(bytes.len() as u64, len, "a payload has another length than its header says");
                return Ok(Some((self.seq, bytes)));
            }
        }
        Ok(None)
    }

    /// Every other frame that is there with all of its payload goes the short way, as if there were a receive for it.
    fn take_whole(&self, record: &Record, header: &Header, header_len: usize) -> Option<(u32, Vec<u8>)> {
        let Body::Eager { seq: MessageSeq(number), .. } = header.body else { return None };
        if number % 2 == 0 || !self.receiver.is_whole(record, header, header_len) {
            return None;
        }
        let bytes = vec![0; header.body.payload_len() as usize];
        self.receiver.place_whole(record, header_len, &self.memory, &payload_of(&bytes));
        Some((number, std::hint::black_box(bytes)))
    }

    /// Somebody writes something; what would be beyond the memory is dropped.
    pub fn spoil(&self, at: usize, bytes: &[u8]) {
        let len = bytes.len().min(LEN.saturating_sub(at));
        if len > 0 {
            self.shared.write(at, &bytes[..len]);
        }
    }

    /// Present contents.
    pub fn word(&self, at: usize) -> u32 {
        self.shared.load(at, Ordering::Relaxed)
    }
}
