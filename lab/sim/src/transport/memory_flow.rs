//! One direction of a link in shared memory: slots, which are taken one after the other, and bytes of a ring for what does
//! not fit into them. `transport/rails-shm` has it in `sender.rs` and `receiver.rs`.
//!
//! The receiver sees what is sent a moment later, and the sender what was taken, much later if nobody waits for it. Long
//! payloads are lent: they stay in the sender's memory until the receiver reads them from there.

use std::collections::VecDeque;

use fishplate_engine::Payload;
use fishplate_engine::wire::{Body, MAX_HEADER_LEN, Urgency};

use super::data::{Contents, Data};
use super::frame::{Frame, Segment, overlap};
use super::link_kind::{Flushed, LinkKind, NeverSent};
use super::memory::Memory;
use super::shared_memory::SharedMemory;
use crate::events::{Duration, Random, Time};

/// Most payload of one record, as in `transport/rails-shm`: an injected message fits into one.
const MAX_PAYLOAD: u64 = 16 << 10;
/// Most pieces of memory that one record names.
const MAX_PIECES: usize = 16;
/// Bytes of a record that are in its slot.
const IN_SLOT: u64 = 56;
/// Records of more bytes are taken as soon as they are read, not with all that are read in one call.
const LONG: u64 = 120;
/// Maximum delay of polling for taken records on which no operation waits.
const MAX_POLL_DELAY: Duration = Duration::ms(20);

/// A record in a slot, until the sender knows that it is taken.
#[derive(Debug)]
struct Slot {
    segment: Segment,
    ring_bytes: u64,
    /// Counted frames up to its end, modulo 2^32.
    frames: u32,
    visible_at: Time,
}

/// A frame, or what of it did not fit yet.
#[derive(Debug)]
struct Waiting {
    frame: Frame,
    is_counted: bool,
    /// Somebody waits until it is taken.
    is_awaited: bool,
}

/// One direction of a link in shared memory.
#[derive(Debug)]
pub struct MemoryFlow {
    contents: Contents,
    slots_in_all: u64,
    ring_in_all: u64,
    least_lent: Option<u64>,
    most_until_seen: Duration,
    random: Random,
    waiting: VecDeque<Waiting>,
    /// From the oldest that the sender does not know to be taken.
    slots: VecDeque<Slot>,
    /// The number of that, and how many counted frames there were before.
    taken: u64,
    frames_taken: u32,
    ring_bytes: u64,
    /// The last one for which somebody waits at the sender.
    awaited: Option<u64>,
    lent: VecDeque<(u64, Payload)>,
    /// Number of the next one that the receiver will see, will read, and has said to the sender.
    seen: u64,
    read: u64,
    published: u64,
    is_long: bool,
    /// The sender polls for taken records.
    looks_at: Option<Time>,
    looks: bool,
    stalled_until: Time,
    is_cut: bool,
    /// The sender has ended: what it has lent must not be used.
    is_closed: bool,
}

impl MemoryFlow {
    pub fn new(settings: &SharedMemory, contents: Contents, seed: u64) -> MemoryFlow {
        MemoryFlow {
            contents,
            slots_in_all: settings.slots,
            ring_in_all: settings.ring_bytes,
            least_lent: settings.least_lent,
            most_until_seen: settings.most_until_seen,
            random: Random::stream(seed, "shared memory"),
            waiting: VecDeque::new(),
            slots: VecDeque::new(),
            taken: 0,
            frames_taken: 0,
            ring_bytes: 0,
            awaited: None,
            lent: VecDeque::new(),
            seen: 0,
            read: 0,
            published: 0,
            is_long: false,
            looks_at: None,
            looks: false,
            stalled_until: Time::START,
            is_cut: false,
            is_closed: false,
        }
    }

    fn next(&self) -> u64 {
        self.taken + self.slots.len() as u64
    }

    /// Whether a record of `bytes` bytes fits, as far as the sender knows.
    fn fits(&self, len: u64) -> bool {
        self.next() - self.taken < self.slots_in_all - 1 && self.ring_bytes + in_ring(len) <= self.ring_in_all
    }

    /// Writes what fits of a frame. True once all of it is written.
    fn write(&mut self, now: Time, waiting: &mut Waiting, memory: &mut Memory) -> bool {
        let Waiting { frame, is_counted, is_awaited } = waiting;
        if self.lends(frame) {
            if !self.fits((MAX_HEADER_LEN + 16 * MAX_PIECES) as u64) {
                return false;
            }
            let len = frame.header_len() + 8;
            let Some(segment) = frame.take_lent(self.contents) else { return false };
            self.lent.extend(segment.lent.clone().map(|payload| (self.next(), payload)));
            self.put(now, segment, len, *is_counted);
        } else {
            while !frame.is_sent() {
                let len = frame.next_len(MAX_PAYLOAD);
                if !self.fits(len) {
                    return false;
                }
                let segment = frame.take(0, MAX_PAYLOAD, memory);
                self.put(now, segment, len, *is_counted && frame.is_sent());
            }
        }
        if *is_awaited {
            self.awaited = Some(self.next() - 1);
        }
        true
    }

    /// Whether the payload of a frame stays where it is.
    fn lends(&self, frame: &Frame) -> bool {
        let is_long = |payload: &&Payload| {
            self.least_lent.is_some_and(|least| payload.len() >= least) && payload.extents().len() <= MAX_PIECES
        };
        frame.place().filter(is_long).is_some()
    }

    fn put(&mut self, now: Time, segment: Segment, len: u64, is_counted: bool) {
        let ring_bytes = in_ring(len);
        let frames = self.slots.back().map_or(self.frames_taken, |slot| slot.frames);
        let frames = frames.wrapping_add(u32::from(is_counted));
        // A processor's cache keeps the order.
        let before = self.slots.back().map_or(Time::START, |slot| slot.visible_at);
        let visible_at = before.max(now + self.random.up_to(self.most_until_seen));
        self.ring_bytes += ring_bytes;
        self.slots.push_back(Slot { segment, ring_bytes, frames, visible_at });
    }

    /// Whether somebody waits at the sender until something is taken.
    fn is_awaited(&self) -> bool {
        let is_untaken = self.awaited.is_some_and(|awaited| awaited >= self.taken);
        is_untaken || self.slots.len() as u64 >= self.slots_in_all / 4 || !self.waiting.is_empty()
    }
}

impl LinkKind for MemoryFlow {
    fn is_in_memory(&self) -> bool {
        true
    }

    fn push(&mut self, now: Time, frame: Frame, memory: &mut Memory) {
        let body = frame.header().map(|header| header.body);
        let is_counted = body.as_ref().is_some_and(Body::is_counted);
        let is_awaited = body.is_some_and(|body| body.urgency() != Urgency::Lazy);
        let mut waiting = Waiting { frame, is_counted, is_awaited };
        if !self.waiting.is_empty() || !self.write(now, &mut waiting, memory) {
            self.waiting.push_back(waiting);
        }
    }

    fn flush(&mut self, now: Time, memory: &mut Memory) -> Flushed {
        while let Some(mut waiting) = self.waiting.pop_front() {
            if !self.write(now, &mut waiting, memory) {
                self.waiting.push_front(waiting);
                return Flushed::Blocked;
            }
        }
        Flushed::All
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn has_room(&self) -> bool {
        self.fits(0)
    }

    fn wants_sender(&self) -> bool {
        self.looks && self.published != self.taken
    }

    fn detach(&mut self, ended: &Payload, memory: &mut Memory) -> bool {
        self.waiting.iter_mut().for_each(|waiting| waiting.frame.detach(ended, memory));
        !self.has_lent(ended)
    }

    fn has_lent(&self, payload: &Payload) -> bool {
        self.lent.iter().any(|(_, lent)| overlap(lent, payload))
    }

    fn takes_copy(&self, len: u64, is_borrowed: bool) -> bool {
        (is_borrowed || self.least_lent.is_none_or(|least| len < least))
            && len <= MAX_PAYLOAD
            && self.waiting.is_empty()
            && self.fits(MAX_HEADER_LEN as u64 + len)
    }

    fn look(&mut self) -> Result<Option<u32>, NeverSent> {
        self.looks = false;
        if self.published == self.taken {
            return Ok(None);
        }
        if self.published > self.next() {
            return Err(NeverSent);
        }
        while self.taken < self.published
            && let Some(slot) = self.slots.pop_front()
        {
            self.taken += 1;
            self.ring_bytes -= slot.ring_bytes;
            self.frames_taken = slot.frames;
        }
        let taken = self.taken;
        self.lent.retain(|(slot, _)| *slot >= taken);
        Ok(Some(self.frames_taken))
    }

    fn recover(&self, frame: u32) -> Option<Data> {
        let slot = self.slots.iter().find(|slot| slot.frames == frame)?;
        Some(slot.segment.data.clone())
    }

    fn arrive(&mut self, now: Time) {
        if self.looks_at.is_some_and(|at| at <= now) {
            self.looks_at = None;
            self.looks = true;
        }
        let is_visible = |slot: &Slot| self.is_cut || slot.visible_at.max(self.stalled_until) <= now;
        let unseen = self.slots.iter().skip((self.seen.max(self.taken) - self.taken) as usize);
        let came = unseen.take_while(|slot| is_visible(slot)).count() as u64;
        self.seen = self.seen.max(self.taken) + came;
    }

    fn has_unread(&self) -> bool {
        self.read.max(self.taken) < self.seen
    }

    fn read(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.is_long) {
            self.publish(now, 0);
        }
        if !self.has_unread() {
            return None;
        }
        // A receiver that has lied of what it has taken never gets that.
        let number = self.read.max(self.taken);
        let Slot { segment, ring_bytes, .. } = &self.slots[(number - self.taken) as usize];
        self.is_long = *ring_bytes > LONG - IN_SLOT;
        self.read = number + 1;
        let Segment { header, data, lent, .. } = segment;
        Some(Segment { number, header: *header, data: data.clone(), lent: lent.clone(), is_end: false })
    }

    fn read_again(&mut self) {
        self.read -= 1;
    }

    fn is_lender_there(&self) -> bool {
        !self.is_closed
    }

    fn publish(&mut self, now: Time, excess: u32) {
        self.is_long = false;
        let taken = self.read + u64::from(excess);
        if taken <= self.published {
            return;
        }
        self.published = taken;
        let most = if self.is_awaited() { self.most_until_seen.0 } else { MAX_POLL_DELAY.0 };
        let at = now + Duration(self.random.of_any_size(most));
        self.looks_at = Some(self.looks_at.map_or(at, |before| before.min(at)));
    }

    fn next_event(&self, _: Time) -> Option<Time> {
        let unseen = self.slots.get((self.seen.max(self.taken) - self.taken) as usize);
        let seen_at = unseen.map(|slot| slot.visible_at.max(self.stalled_until));
        seen_at.into_iter().chain(self.looks_at).min()
    }

    /// Records in memory stay readable, so that only lent memory is lost.
    fn cut(&mut self, _: Time, _: u64) {
        self.is_cut = true;
    }

    fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn close(&mut self) {
        self.waiting.clear();
        self.is_closed = true;
    }

    /// It is never closed while its processes live.
    fn shut(&mut self, _: Time, _: Data) {
        self.close();
    }

    fn stall(&mut self, until: Time) {
        self.stalled_until = self.stalled_until.max(until);
    }

    /// Memory is never slowed down.
    fn slow(&mut self, _: Time, _: u64, _: Duration) {}

    fn heal(&mut self, now: Time) {
        self.stalled_until = self.stalled_until.min(now);
    }
}

/// Bytes of the ring that a record takes: whole cache lines.
fn in_ring(len: u64) -> u64 {
    len.saturating_sub(IN_SLOT).next_multiple_of(64)
}
