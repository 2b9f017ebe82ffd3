//! The sending half of a link in shared memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fishplate_engine::wire::{Header, MAX_HEADER_LEN, Urgency, header_len};
use fishplate_engine::{Extent, Payload, Source};
use fishplate_link_core::{Content, Held, Places, UserMemory, WaitingFrame, overlaps};

use crate::layout::{BYTES, IN_SLOT, MAX_PAYLOAD, SLOTS, Side, Sleep, Word, describe, in_ring, kind, tag};
use crate::sys::process_memory::MAX_PIECES;
use crate::sys::shared_memory::SharedMemory;

/// Shortest payload that is lent, in bytes, where the peer can read this process's memory: the system call takes as long as copying
/// it twice.
const MIN_LENT: u64 = 8 << 10;
/// Longest list of lent pieces in a record, in bytes.
const MAX_LENT: usize = MAX_PIECES * 16;

/// The peer claims to have taken slots that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent;

/// Counts up to the end of a slot.
#[derive(Clone, Copy, Default)]
struct End {
    /// Bytes put into the ring.
    bytes: u64,
    /// Counted frames, modulo 2^32.
    frames: u32,
}

/// State of the sending half. From the shared memory it reads only the number of slots that the peer has taken.
pub struct Sender {
    memory: Arc<SharedMemory>,
    side: Side,
    /// Number of the next slot, modulo 2^32.
    next: u32,
    /// Number of slots that the peer has taken.
    taken: u32,
    /// Bytes put into the ring since the start.
    bytes: u64,
    /// By slot.
    ends: Box<[End]>,
    /// Counted frames that were put into slots whole, modulo 2^32.
    frames: u32,
    /// Slot of the last frame whose acknowledgement is awaited.
    awaited: u32,
    /// Queued frames, in order; a part of the first may have been sent.
    waiting: VecDeque<WaitingFrame>,
    /// Lent memory, each piece with its slot.
    lent: VecDeque<(u32, Payload)>,
    /// The peer can read this process's memory.
    peer_reads: bool,
    /// Records were sent, and it was not checked since whether the peer sleeps.
    pub unrung: bool,
}

impl Sender {
    /// The sender of one side of a link.
    pub(crate) fn new(memory: Arc<SharedMemory>, side: Side) -> Sender {
        Sender {
            memory,
            side,
            next: 0,
            taken: 0,
            bytes: 0,
            ends: vec![End::default(); SLOTS as usize].into(),
            frames: 0,
            awaited: u32::MAX,
            waiting: VecDeque::new(),
            lent: VecDeque::new(),
            peer_reads: false,
            unrung: false,
        }
    }

    /// Whether this side waits until the peer has taken records: for lent memory, for room, or for a completion. Other records are
    /// acknowledged by the peer's frames.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        let is_untaken = |slot: u32| slot.wrapping_sub(self.taken) <= u32::MAX / 2;
        self.taken != self.next && (is_untaken(self.awaited) || self.next.wrapping_sub(self.taken) >= SLOTS / 4)
            || !self.waiting.is_empty()
    }

    /// Whether the peer may not have taken everything.
    #[inline]
    pub fn has_untaken(&self) -> bool {
        self.taken != self.next
    }

    /// Whether frames are queued.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the peer may still read `payload`.
    pub fn has_lent(&self, payload: &Payload) -> bool {
        self.lent.iter().any(|(_, lent)| overlaps(lent, payload))
    }

    /// Sends a frame, or queues it until there is room. `is_borrowed`: the payload is valid only during the call.
    #[inline]
    pub fn push(&mut self, header: &Header, source: &Source, is_borrowed: bool, places: Places<'_>) {
        let may_lend = !is_borrowed && self.can_lend(source);
        let mut done = 0;
        if self.waiting.is_empty() && self.write(header, Content::Where(source), may_lend, &mut done, places) {
            return;
        }
        let payload = if is_borrowed { Content::Where(source).copied(places) } else { Held::Where(source.clone()) };
        self.waiting.push_back(WaitingFrame { header: *header, payload, may_lend, done });
    }

    /// Whether a message of `len` bytes would be sent at once, in one record and as a copy. `is_borrowed`: see
    /// [`Sender::push`].
    #[inline]
    pub fn takes_copy(&self, len: u64, is_borrowed: bool) -> bool {
        (is_borrowed || len < MIN_LENT || !self.does_peer_read())
            && len <= MAX_PAYLOAD as u64
            && self.waiting.is_empty()
            && self.has_room(MAX_HEADER_LEN + len as usize)
    }

    /// Sends a message for which [`Sender::takes_copy`] is true.
    #[inline]
    pub fn push_copy(&mut self, header: &Header, payload: &Payload, memory: &UserMemory) {
        let mut bytes = [0; MAX_HEADER_LEN];
        let header_len = header.encode(&mut bytes);
        self.frames = self.frames.wrapping_add(1);
        let record_len = header_len + header.body.payload_len() as usize;
        if record_len <= IN_SLOT {
            // One copy: processors do not forward stores that were written in parts.
            let mut at = header_len;
            memory.for_each(payload, 0, u64::MAX, |part| {
                bytes[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            });
            self.memory
                .write_array(self.side.slot(self.next) + 8, bytes.first_chunk::<IN_SLOT>().unwrap_or(&[0; IN_SLOT]));
            return self.publish(kind::FRAME, record_len);
        }
        let mut record = self.begin();
        record.put(&bytes[..header_len]);
        memory.for_each(payload, 0, u64::MAX, |bytes| record.put(bytes));
        self.publish(kind::FRAME, record_len);
    }

    /// Sends queued frames as far as they fit. True if any were sent.
    pub fn flush(&mut self, places: Places<'_>) -> bool {
        let before = self.next;
        while let Some(mut frame) = self.waiting.pop_front() {
            let WaitingFrame { header, payload, may_lend, done } = &mut frame;
            if !self.write(header, payload.content(), *may_lend, done, places) {
                self.waiting.push_front(frame);
                break;
            }
        }
        self.next != before
    }

    /// Polls how many counted frames the peer has taken; `None` if that is no news.
    pub fn poll_taken(&mut self) -> Result<Option<u32>, NeverSent> {
        let taken = self.memory.load(self.side.peer().word(Word::Taken), Ordering::Acquire);
        if taken == self.taken {
            return Ok(None);
        }
        if taken.wrapping_sub(self.taken) > self.next.wrapping_sub(self.taken) {
            return Err(NeverSent);
        }
        self.taken = taken;
        while self.lent.front().is_some_and(|(slot, _)| self.next.wrapping_sub(*slot) > self.next.wrapping_sub(taken)) {
            self.lent.pop_front();
        }
        Ok(Some(self.end_of(taken).frames))
    }

    /// Copies queued bytes in the memory `ended`, which becomes invalid. False if the peer may still read there.
    pub(crate) fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        self.waiting.iter_mut().for_each(|frame| frame.detach(ended, places));
        !self.has_lent(ended)
    }

    /// Copies the payload, of `len` bytes, of counted frame number `frame`, which was sent in one record. False if the peer has taken
    /// that. (The peer may have changed the bytes, but only it gets them.)
    pub fn recover(&self, frame: u32, len: u64, into: &mut Vec<u8>) -> bool {
        let untaken = (0..self.next.wrapping_sub(self.taken)).map(|at| self.taken.wrapping_add(at));
        let found = untaken.into_iter().find(|slot| self.end_of(slot.wrapping_add(1)).frames == frame);
        let len = len as usize;
        if let Some(slot) = found {
            let mut first = [0];
            self.memory.read(self.side.slot(slot) + 8, &mut first);
            let from = header_len(first[0]).unwrap_or(0);
            let in_slot = len.min(IN_SLOT.saturating_sub(from));
            self.memory.append(self.side.slot(slot) + 8 + from, in_slot, into);
            let start = self.end_of(slot).bytes + from.saturating_sub(IN_SLOT) as u64;
            while into.len() < len {
                let at = ((start + (into.len() - in_slot) as u64) % BYTES as u64) as usize;
                self.memory.append(self.side.bytes() + at, (len - into.len()).min(BYTES - at), into);
            }
        }
        into.resize(len, 0);
        found.is_some()
    }

    /// Whether the peer has to be woken; it counts as awake from then on. `is_last`: see [`Sender::unrung`].
    #[inline]
    pub fn must_ring(&mut self, is_last: bool) -> bool {
        self.unrung &= !is_last;
        let at = self.side.peer().word(Word::Sleep);
        self.memory.load(at, Ordering::Relaxed) != Sleep::Not as u32
            && self.memory.swap(at, Sleep::Not as u32) != Sleep::Not as u32
    }

    fn can_lend(&mut self, source: &Source) -> bool {
        let Source::User(payload) = source else { return false };
        if source.len() < MIN_LENT || payload.extents().len() > MAX_PIECES {
            return false;
        }
        self.peer_reads = self.does_peer_read();
        self.peer_reads
    }

    /// Whether the peer can read this process's memory.
    fn does_peer_read(&self) -> bool {
        self.peer_reads || self.memory.load(self.side.peer().word(Word::Reads), Ordering::Relaxed) == 1
    }

    /// Writes a frame from offset `done` of its payload on, as far as there is room. True once all of it is written.
    #[inline]
    fn write(&mut self, header: &Header, content: Content<'_>, lend: bool, done: &mut u64, places: Places<'_>) -> bool {
        let len = content.payload_len();
        if lend && *done == 0 {
            return self.write_lent(header, content);
        }
        let mut bytes = [0; MAX_HEADER_LEN];
        let mut own_len = if *done == 0 { header.encode(&mut bytes) } else { 0 };
        loop {
            let part = (len - *done).min(MAX_PAYLOAD as u64) as usize;
            if !self.has_room(own_len + part) {
                return false;
            }
            let kind = if own_len > 0 { kind::FRAME } else { kind::REST };
            let mut record = self.begin();
            record.put(&bytes[..own_len]);
            content.for_each(*done, part, places, |bytes| record.put(bytes));
            let record_len = record.len;
            *done += part as u64;
            let is_whole = *done == len;
            self.frames = self.frames.wrapping_add(u32::from(is_whole && header.body.is_counted()));
            self.publish(kind, record_len);
            if is_whole {
                self.await_if_urgent(header);
                return true;
            }
            own_len = 0;
        }
    }

    /// Writes a frame whose payload is lent.
    fn write_lent(&mut self, header: &Header, content: Content<'_>) -> bool {
        let Content::Where(Source::User(payload)) = content else { return false };
        if !self.has_room(MAX_HEADER_LEN + MAX_LENT) {
            return false;
        }
        let mut bytes = [0; MAX_HEADER_LEN];
        let own_len = header.encode(&mut bytes);
        let mut record = self.begin();
        record.put(&bytes[..own_len]);
        let address = |extent: &Extent| extent.region.0.wrapping_add(extent.offset).to_le_bytes();
        match payload {
            Payload::One(extent) => record.put(&address(extent)),
            Payload::Many(extents) => {
                for extent in extents {
                    record.put(&address(extent));
                    record.put(&extent.len.to_le_bytes());
                }
            }
        }
        let record_len = record.len;
        self.lent.push_back((self.next, payload.clone()));
        self.frames = self.frames.wrapping_add(u32::from(header.body.is_counted()));
        self.publish(kind::LENT, record_len);
        self.await_if_urgent(header);
        true
    }

    /// A frame was written whole.
    #[inline]
    fn await_if_urgent(&mut self, header: &Header) {
        if header.body.urgency() != Urgency::Lazy {
            self.awaited = self.next.wrapping_sub(1);
        }
    }

    /// Whether a record of `len` bytes fits, as far as is known.
    #[inline]
    fn has_room(&self, len: usize) -> bool {
        let free = BYTES as u64 - (self.bytes - self.end_of(self.taken).bytes);
        self.next.wrapping_sub(self.taken) < SLOTS - 1 && in_ring(len) as u64 <= free
    }

    /// The counts up to the end of the slot before `slot`. They are known of all but the oldest slot, so that one stays empty.
    fn end_of(&self, slot: u32) -> End {
        self.ends[(slot.wrapping_sub(1) % SLOTS) as usize]
    }

    fn begin(&self) -> Record<'_> {
        let (slot, ring) = (self.side.slot(self.next), self.side.bytes());
        Record { memory: &self.memory, slot, ring, bytes: self.bytes, len: 0 }
    }

    /// The record that was begun is whole.
    #[inline]
    fn publish(&mut self, kind: u32, len: usize) {
        let slot = self.side.slot(self.next);
        self.memory.store(slot + 4, describe(kind, len), Ordering::Relaxed);
        self.memory.store(slot, tag(self.next), Ordering::Release);
        self.bytes += in_ring(len) as u64;
        self.ends[(self.next % SLOTS) as usize] = End { bytes: self.bytes, frames: self.frames };
        self.next = self.next.wrapping_add(1);
        self.unrung = true;
        // The peer's cache has the next slots; without the prefetch the next atomic instruction would wait for them.
        self.memory.prefetch(self.side.slot(self.next.wrapping_add(1)));
        self.memory.prefetch(self.side.slot(self.next.wrapping_add(2)));
    }
}

/// A record that is being written.
struct Record<'a> {
    memory: &'a SharedMemory,
    slot: usize,
    ring: usize,
    bytes: u64,
    len: usize,
}

impl Record<'_> {
    /// Adds bytes to its end.
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let (here, mut rest) = bytes.split_at(bytes.len().min(IN_SLOT.saturating_sub(self.len)));
        self.memory.write(self.slot + 8 + self.len.min(IN_SLOT), here);
        self.len += here.len();
        while !rest.is_empty() {
            let at = ((self.bytes + (self.len - IN_SLOT) as u64) % BYTES as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(BYTES - at));
            self.memory.write(self.ring + at, now);
            self.len += now.len();
            rest = later;
        }
    }
}
