//! The receiving half of a link in shared memory. Whatever the peer writes there, the result is records of bounded length from its
//! own memory, or an error that says how it has violated the protocol.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fishplate_engine::wire::{Header, MAX_HEADER_LEN, Malformed, decode, header_len};
use fishplate_engine::{Payload, Placement, ProtocolViolation};
use fishplate_link_core::{BounceBuffers, Destination, UserMemory};

use crate::layout::{BYTES, IN_SLOT, MAX_PAYLOAD, SLOT, Side, Word, described, in_ring, kind, tag};
use crate::sys::process_memory::{Known, MAX_PIECES, Piece, Process};
use crate::sys::shared_memory::SharedMemory;

/// A violation of the protocol by the peer.
#[derive(Debug, thiserror::Error)]
pub enum BadRecord {
    /// An unknown kind of record, or one that must not come here.
    #[error("a record of kind {0} in shared memory, where none may be")]
    Kind(u32),
    /// A length beyond that of records, or of the frame.
    #[error("a record of {0} bytes in shared memory, which does not have the length of its frame")]
    Length(usize),
    /// A malformed header.
    #[error(transparent)]
    Header(Malformed),
    /// A frame that the engine refuses.
    #[error(transparent)]
    Protocol(ProtocolViolation),
}

/// State of the receiving half.
pub struct Receiver {
    memory: Arc<SharedMemory>,
    side: Side,
    /// Number of the next slot, modulo 2^32.
    next: u32,
    /// Offset of the next slot.
    next_at: usize,
    /// Bytes taken from the ring since the start.
    bytes: u64,
    /// The value of `next` that the peer sees.
    published: u32,
    destination: Destination,
    done: u64,
    len: u64,
    /// The peer's process, if its memory can be read.
    process: Option<Process>,
}

/// A record that is being handled.
pub struct Record {
    /// Its kind: a frame, or more of a payload.
    pub kind: u32,
    /// Its length.
    pub len: usize,
    slot: [u8; SLOT],
}

impl Record {
    /// Its bytes in the slot.
    fn start(&self) -> &[u8] {
        &self.slot[SLOT - IN_SLOT..]
    }
}

/// Progress of placing a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// More of it will come.
    Part,
    /// All of it is in place; its length.
    Whole(u64),
}

impl Receiver {
    /// `side`: this one.
    pub(crate) fn new(memory: Arc<SharedMemory>, side: Side, process: Option<Process>) -> Receiver {
        let (destination, done, len) = (Destination::Discard, 0, 0);
        let next_at = side.peer().slot(0);
        Receiver { memory, side, next: 0, next_at, bytes: 0, published: 0, destination, done, len, process }
    }

    /// Whether there is a record.
    #[inline]
    pub fn has_record(&self) -> bool {
        self.memory.load(self.next_at, Ordering::Acquire) == tag(self.next)
    }

    /// The next record, which has to be [`Receiver::finish`]ed.
    #[inline]
    pub fn record(&self) -> Result<Option<Record>, BadRecord> {
        if !self.has_record() {
            return Ok(None);
        }
        // Copied before it is checked, as the peer may still change it.
        let slot: [u8; SLOT] = self.memory.bytes(self.next_at);
        let (kind, len) = described(u32::from_le_bytes([slot[4], slot[5], slot[6], slot[7]]));
        let most = match kind {
            kind::FRAME => MAX_HEADER_LEN + MAX_PAYLOAD,
            kind::REST => MAX_PAYLOAD,
            kind::LENT => MAX_HEADER_LEN + 16 * MAX_PIECES,
            _ => return Err(BadRecord::Kind(kind)),
        };
        let is_expected = (kind == kind::REST) == (self.len > 0);
        match is_expected {
            true if len <= most => Ok(Some(Record { kind, len, slot })),
            true => Err(BadRecord::Length(len)),
            false => Err(BadRecord::Kind(kind)),
        }
    }

    /// The header that a record begins with, and its length in bytes.
    #[inline]
    pub fn header(&self, record: &Record) -> Result<(Header, usize), BadRecord> {
        let decoded = if record.len <= IN_SLOT {
            decode(&record.start()[..record.len])
        } else if header_len(record.start()[0]).is_ok_and(|len| len <= IN_SLOT) {
            decode(record.start())
        } else {
            let mut bytes = [0; MAX_HEADER_LEN];
            bytes[..IN_SLOT].copy_from_slice(record.start());
            // A multiple of a cache line, so that it does not wrap here.
            let at = (self.bytes % BYTES as u64) as usize;
            self.memory.read(self.side.peer().bytes() + at, &mut bytes[IN_SLOT..]);
            decode(&bytes[..record.len.min(MAX_HEADER_LEN)])
        };
        decoded.map_err(BadRecord::Header)?.ok_or(BadRecord::Length(record.len))
    }

    /// The payload of the record's header goes to `placement`. `header_len` bytes of the record are the header.
    #[inline]
    pub fn begin(
        &mut self,
        record: &Record,
        header: &Header,
        header_len: usize,
        placement: Placement,
        bounces: &mut BounceBuffers,
    ) -> Result<(), BadRecord> {
        let (len, here) = (u64::from(header.body.payload_len()), (record.len - header_len) as u64);
        // A first part without bytes is not allowed.
        let fits = if record.kind == kind::LENT { here > 0 && len > 0 } else { here <= len && (here > 0 || len == 0) };
        if !fits {
            return Err(BadRecord::Length(record.len));
        }
        (self.len, self.done) = (len, 0);
        self.destination = Destination::open(placement, bounces);
        Ok(())
    }

    /// Whether a record has a header, of `header_len` bytes, with all of its payload.
    #[inline]
    pub fn is_whole(&self, record: &Record, header: &Header, header_len: usize) -> bool {
        record.kind == kind::FRAME && record.len - header_len == header.body.payload_len() as usize
    }

    /// Places the payload of such a record in user memory, as much as fits.
    #[inline]
    pub fn place_whole(&self, record: &Record, header_len: usize, memory: &UserMemory, to: &Payload) {
        let in_slot = &record.start()[header_len.min(IN_SLOT)..record.len.min(IN_SLOT)];
        memory.write(to, 0, in_slot);
        let (mut at, mut left) = (self.bytes + header_len.saturating_sub(IN_SLOT) as u64, record.len - header_len);
        left -= in_slot.len();
        let mut done = in_slot.len() as u64;
        while left > 0 {
            let start = (at % BYTES as u64) as usize;
            let part = left.min(BYTES - start);
            self.memory.place(self.side.peer().bytes() + start, part, memory, to, done);
            (at, left, done) = (at + part as u64, left - part, done + part as u64);
        }
    }

    /// Places what a record has of a payload, from byte `from` of it on.
    #[inline]
    pub fn place(
        &mut self,
        record: &Record,
        from: usize,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> Result<Placed, BadRecord> {
        let here = (record.len - from) as u64;
        if here > self.len - self.done || here == 0 {
            return Err(BadRecord::Length(record.len));
        }
        let in_slot = &record.start()[from.min(IN_SLOT)..record.len.min(IN_SLOT)];
        self.destination.put(self.done, in_slot, memory, bounces);
        self.done += in_slot.len() as u64;
        let (mut at, mut left) = (self.bytes + from.saturating_sub(IN_SLOT) as u64, here as usize - in_slot.len());
        while left > 0 {
            let start = (at % BYTES as u64) as usize;
            let part = left.min(BYTES - start);
            self.copy_out(self.side.peer().bytes() + start, part, memory, bounces);
            (at, left) = (at + part as u64, left - part);
            self.done += part as u64;
        }
        Ok(self.placed())
    }

    fn copy_out(&self, at: usize, len: usize, memory: &UserMemory, bounces: &mut BounceBuffers) {
        match &self.destination {
            Destination::User(place) => self.memory.place(at, len, memory, place, self.done),
            Destination::Bounce(id) => {
                bounces.get_mut(*id).into_iter().for_each(|buffer| self.memory.append(at, len, buffer));
            }
            Destination::Discard => {}
        }
    }

    /// Reads the payload of a record out of the peer's memory.
    pub fn place_lent(
        &mut self,
        record: &Record,
        known: Known,
        header_len: usize,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> io::Result<Placed> {
        let len = self.len;
        let gone = || io::Error::other("the peer's memory cannot be read");
        let mut list = Vec::with_capacity(record.len);
        list.extend_from_slice(&record.start()[..record.len.min(IN_SLOT)]);
        let at = (self.bytes % BYTES as u64) as usize;
        let rest = record.len.saturating_sub(IN_SLOT);
        let first = rest.min(BYTES - at);
        self.memory.append(self.side.peer().bytes() + at, first, &mut list);
        self.memory.append(self.side.peer().bytes(), rest - first, &mut list);
        let from = lent_pieces(&list[header_len..], len).ok_or_else(gone)?;
        let process = self.process.ok_or_else(gone)?;
        let is_whole = match &self.destination {
            Destination::User(place) => process.read(&from, memory, place, known)?,
            Destination::Bounce(id) => {
                let buffer = bounces.get_mut(*id).ok_or_else(gone)?;
                process.read_own(&from, buffer, known)?
            }
            Destination::Discard => true,
        };
        // After the close the sender's user may have changed the payload.
        let is_closed = self.memory.load(self.side.peer().word(Word::Closed), Ordering::SeqCst) != 0;
        if is_closed || !is_whole {
            return Err(gone());
        }
        self.done = len;
        Ok(self.placed())
    }

    fn placed(&mut self) -> Placed {
        if self.done < self.len {
            return Placed::Part;
        }
        self.done = 0;
        Placed::Whole(std::mem::take(&mut self.len))
    }

    /// Drops the rest of the present payload.
    pub(crate) fn discard(&mut self) {
        self.destination = Destination::Discard;
    }

    /// Whether a payload has come in part.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.len > 0
    }

    /// Frees the slot and the ring bytes of a record.
    #[inline]
    pub fn finish(&mut self, record: &Record) {
        self.next = self.next.wrapping_add(1);
        self.next_at = self.side.peer().slot(self.next);
        self.bytes += in_ring(record.len) as u64;
        if record.len > IN_SLOT + SLOT {
            self.publish();
        }
    }

    /// Lets the peer see which slots were taken. True if that is news.
    #[inline]
    pub fn publish(&mut self) -> bool {
        let is_news = self.published != self.next;
        if is_news {
            self.published = self.next;
            self.memory.store(self.side.word(Word::Taken), self.next, Ordering::Release);
        }
        is_news
    }
}

/// The pieces of the peer's memory that a record names, if they have `len` bytes.
fn lent_pieces(list: &[u8], len: u64) -> Option<Vec<Piece>> {
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if list.len() == 8 {
        return Some(vec![Piece { address: number(list), len }]);
    }
    if !list.len().is_multiple_of(16) {
        return None;
    }
    let piece = |pair: &[u8]| Piece { address: number(pair), len: number(&pair[8..]) };
    let pieces: Vec<Piece> = list.chunks(16).map(piece).collect();
    let sum = pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.len));
    (sum == Some(len)).then_some(pieces)
}
