//! Remote memory access in the scheduler: reads to ask for, the peer's reads to answer, short writes, refusals.

use std::collections::VecDeque;

use super::send::Send;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::subchannel::Cargo;
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::channel::{Charge, Reply, VirtualChannel};
use crate::generational_slab::Table;
use crate::intervals::Intervals;
use crate::memory::Payload;
use crate::registered_memory::RegionId;
use crate::time::Instant;
use crate::wire::{Access, Body, LandingRef, Refusal, SendRef};

/// Most frames of writes to one peer that are not acknowledged. For each, the peer may have to remember that it refuses
/// it: 1.5 MiB in all. Enough to fill any path with frames worth sending. Both ends count on the same number.
const MOST_WRITES: u32 = 1 << 16;
/// Most reads of one peer that are answered, and whose answers it has not acknowledged, at a time: 1 MiB of records. Those
/// beyond wait, which the peer has to answer for with its credit.
const MOST_ANSWERS: u32 = 4096;

/// Most gaps in the numbers of the peer's frames: each is a frame on its way over another subchannel, or refused.
const MOST_SCATTERED: usize = 1 << 18;

/// The peer's numbers have more gaps than it can have frames under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooScattered;

/// A read of the peer's that waits to be answered.
#[derive(Debug)]
struct Asked {
    region: RegionId,
    source: Payload,
    landing: LandingRef,
}

/// What remote memory access adds to a virtual channel.
#[derive(Default)]
pub struct RemoteAccess {
    /// Requests to read that wait for credit or for a subchannel.
    reads: VecDeque<Body>,
    /// Short writes without a subchannel, in order: keys of sends.
    writes: VecDeque<u64>,
    /// Frames of writes that were given out and are not acknowledged.
    writes_under_way: u32,
    /// Reads of the peer's that wait. Bounded by its credit.
    asked: VecDeque<Asked>,
    /// Answers that are being sent or wait to be acknowledged.
    answers: u32,
    /// Refused writes that the peer has not been told of.
    refused: u32,
    /// Number of the next frame of an access.
    next_number: u64,
    /// Numbers of the peer's that are done with.
    seen: Intervals,
}

impl RemoteAccess {
    /// Whether nothing waits to be handed to a subchannel.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.asked.is_empty() && self.refused == 0
    }

    /// The number of the next frame of an access.
    pub fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// A frame of the peer's has come. False if it has come before.
    pub fn see(&mut self, number: u64) -> Result<bool, TooScattered> {
        let end = number.checked_add(1).ok_or(TooScattered)?;
        let is_new = self.seen.add(number, end).is_ok();
        if self.seen.ranges() > MOST_SCATTERED { Err(TooScattered) } else { Ok(is_new) }
    }

    /// Whether a frame of the peer's has come before.
    pub fn has(&self, number: u64) -> bool {
        self.seen.contains(number, number.saturating_add(1))
    }

    /// It will come again.
    pub fn unsee(&mut self, number: u64) {
        self.seen.remove(number, number + 1);
    }

    /// The peer will hear of so many refusals in another way.
    pub fn forget_refusals(&mut self, count: usize) {
        self.refused -= count as u32;
    }

    /// Whether another frame of a write may be given out.
    pub fn may_write(&self) -> bool {
        self.writes_under_way < MOST_WRITES
    }

    /// Whether another of the peer's writes may be refused: otherwise it has sent more than it may.
    pub fn may_refuse(&self) -> bool {
        self.refused < MOST_WRITES
    }

    /// A frame of a write is given out.
    pub fn write_given_out(&mut self) {
        self.writes_under_way += 1;
    }

    /// So many were acknowledged. True if others waited for that.
    pub fn writes_acknowledged(&mut self, count: u32) -> bool {
        let waited = !self.may_write();
        self.writes_under_way -= count;
        waited && count > 0
    }

    /// The peer has all of an answer. True if others wait for that.
    pub fn answered(&mut self) -> bool {
        self.answers -= 1;
        !self.asked.is_empty()
    }
}

impl VirtualChannel {
    /// Queues a short write, of `len` bytes.
    pub fn enqueue_write(&mut self, send: u64, len: u64) {
        self.remote.writes.push_back(send);
        self.pending += len;
    }

    /// Queues a request to read.
    pub fn enqueue_read(&mut self, read: Body) {
        self.remote.reads.push_back(read);
    }

    /// The peer reads `source` out of `region`.
    pub fn enqueue_asked(&mut self, region: RegionId, source: Payload, landing: LandingRef) {
        self.remote.asked.push_back(Asked { region, source, landing });
    }

    /// Queues the refusal of a read, whose record this becomes.
    pub fn refuse_read(&mut self, landing: LandingRef, why: Refusal) {
        let body = Body::Refused { what: Access::Read(landing), why };
        self.replies.push_back(Reply { body, charge: Charge::Announcement });
    }

    /// A write that came over subchannel `index` is refused.
    pub fn refuse_write(&mut self, index: usize, (number, write): (u64, SendRef), why: Refusal) {
        self.remote.refused += 1;
        self.subchannels[index].refusals.push_back((number, write, why));
    }

    /// `region` has ended: the reads of it that wait are refused.
    pub fn refuse_asked(&mut self, region: RegionId) {
        for asked in std::mem::take(&mut self.remote.asked) {
            if asked.region == region {
                self.refuse_read(asked.landing, Refusal::Key);
            } else {
                self.remote.asked.push_back(asked);
            }
        }
    }

    /// A send that is being cut is stopped, with `left` bytes uncut.
    pub fn withdraw(&mut self, send: u64, left: u64) {
        self.cleared.retain(|key| *key != send);
        self.pending -= left;
    }

    /// A write that is refused. Before all else that would carry an acknowledgement over the same subchannel.
    pub(super) fn refusal(&mut self, now: Instant) -> Option<Transmit> {
        if self.remote.refused == 0 {
            return None;
        }
        let index = self.subchannels.iter().position(|sub| sub.budget > 0 && !sub.refusals.is_empty())?;
        let (number, write, why) = self.subchannels[index].refusals.pop_front()?;
        self.remote.refused -= 1;
        let body = Body::Refused { what: Access::Write(write), why };
        Some(self.frame(now, index, body, NO_PAYLOAD, Cargo::Refusal(number)))
    }

    /// The oldest request to read.
    pub(super) fn read_request(&mut self, now: Instant) -> Option<Transmit> {
        self.remote.reads.front()?;
        if !self.credit.allows_request() {
            return None;
        }
        let index = self.nearest(now)?;
        let mut body = self.remote.reads.pop_front()?;
        if let Body::Read { number, .. } = &mut body {
            *number = self.remote.take_number();
        }
        self.credit.spend(MESSAGE_CHARGE);
        Some(self.frame(now, index, body, NO_PAYLOAD, Cargo::Control))
    }

    /// The oldest short write without a subchannel.
    pub(super) fn queued_write(&mut self, now: Instant, sends: &mut Table<Send>) -> Option<Transmit> {
        loop {
            let key = *self.remote.writes.front()?;
            let Some(send) = sends.get(key) else {
                self.remote.writes.pop_front();
                continue;
            };
            if !self.remote.may_write() {
                return None;
            }
            let len = send.source.len();
            let views = self.views(now);
            let index = usize::from(self.live[self.multiplex.choose(len, self.pending, &views)?]);
            self.remote.writes.pop_front();
            self.remote.write_given_out();
            self.pending -= len;
            if self.subchannels[index].budget > 0 {
                return self.message(now, index, key, sends);
            }
            self.subchannels[index].assigned.push_back(key);
        }
    }

    /// Reads of the peer's become answers to be cut.
    pub(super) fn serve(&mut self, sends: &mut Table<Send>) {
        while self.remote.answers < MOST_ANSWERS
            && let Some(Asked { region, source, landing }) = self.remote.asked.pop_front()
        {
            let len = source.len();
            let key = sends.insert(Send::answer(self.id, region, source, landing));
            self.enqueue_cleared(key, len);
            self.remote.answers += 1;
        }
    }
}
