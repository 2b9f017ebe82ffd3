//! Remote memory access in the scheduler: short writes, read requests, responses to the peer's reads, refusals.

use std::collections::{BTreeMap, VecDeque};

use super::atomics::OutgoingAtomics;
use super::send::Send;
use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::receive::atomics::IncomingAtomics;
use crate::channel::subchannel::{FrameOwner, RefusedWrite, WriteFrame};
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::generational_slab::{GenerationalSlab, Key};
use crate::intervals::Intervals;
use crate::memory::Payload;
use crate::registered_memory::RegionId;
use crate::time::Instant;
use crate::wire::{Access, Body, ReceiveRef, Refusal};

/// Maximum number of unacknowledged frames of writes to one peer. For each, the peer may have to keep a refusal: 1.5 MiB in
/// all. Enough to fill any path with full frames. Both ends enforce it: it belongs to the wire format.
const MAX_WRITES: u32 = 1 << 16;
/// Maximum number of responses to one peer that are being sent or unacknowledged: 1 MiB of records. Reads beyond it wait; the
/// peer is charged for them.
const MAX_RESPONSES: u32 = 4096;

/// Maximum number of refusals of writes that a peer has not acknowledged: four times what a peer that acknowledges them can
/// cause in a round trip; 40 MiB of records.
const MAX_REFUSALS: u32 = 4 * MAX_WRITES;

/// Maximum number of gaps in the numbers of the peer's frames: each is a frame in flight over another subchannel, or refused.
const MAX_GAPS: usize = 1 << 18;

/// The peer's numbers have more gaps than it can have frames in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyGaps;

/// A read of the peer that waits for its response.
#[derive(Debug)]
struct PendingRead {
    region: RegionId,
    source: Payload,
    receive: ReceiveRef,
}

/// State of remote memory access of one virtual channel.
#[derive(Default)]
pub struct RemoteAccess {
    /// Requests to read that wait for credit or for a subchannel.
    reads: VecDeque<Body>,
    /// Short writes without a subchannel, in order: keys of sends.
    writes: VecDeque<Key<Send>>,
    /// Frames of writes that were sent and are not acknowledged.
    writes_in_flight: u32,
    /// Reads of the peer that wait. Bounded by its credit.
    pending_reads: VecDeque<PendingRead>,
    /// Number of responses that are being sent or unacknowledged.
    responses: u32,
    /// Number of refusals of writes that are still to be sent.
    refused: u32,
    /// Number of refusals of writes that the peer has not acknowledged, including those still to be sent.
    unacknowledged_refusals: u32,
    /// Reasons for refusing writes that came over shared memory, by number, until the peer has acknowledged the refusal. If that
    /// subchannel fails before, the writes come again without their bytes, so that they could not be checked again.
    refused_in_memory: BTreeMap<u64, Refusal>,
    /// Number of this side's next frame of an access.
    next_number: u64,
    /// Numbers of the peer's frames that have come.
    recorded: Intervals,
    /// Atomic operations of this side.
    pub atomics: OutgoingAtomics,
    /// Atomic operations of the peer.
    pub incoming_atomics: IncomingAtomics,
}

impl RemoteAccess {
    /// Whether no frame waits for a subchannel to take it.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty()
            && self.writes.is_empty()
            && self.pending_reads.is_empty()
            && self.refused == 0
            && self.atomics.queue.is_empty()
    }

    /// Whether no write of this side waits or is in flight, and no read request waits.
    pub fn has_none_on_its_way(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.writes_in_flight == 0
    }

    /// The number of the next frame of an access.
    pub fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// A frame of the peer has come. False if it is a duplicate.
    pub fn record(&mut self, number: u64) -> Result<bool, TooManyGaps> {
        let end = number.checked_add(1).ok_or(TooManyGaps)?;
        let is_new = self.recorded.add(number, end).is_ok();
        if self.recorded.ranges() > MAX_GAPS { Err(TooManyGaps) } else { Ok(is_new) }
    }

    /// Whether frame `number` of the peer has come before.
    pub fn is_duplicate(&self, number: u64) -> bool {
        self.recorded.contains(number, number.saturating_add(1))
    }

    /// The payload of frame `number` was cut off: the frame will be retransmitted.
    pub fn forget(&mut self, number: u64) {
        self.recorded.remove(number, number + 1);
    }

    /// `count` refusals need not be sent any more.
    pub fn forget_refusals(&mut self, count: usize) {
        self.refused -= count as u32;
        self.unacknowledged_refusals -= count as u32;
    }

    /// Whether another frame of a write may be sent.
    pub fn may_write(&self) -> bool {
        self.writes_in_flight < MAX_WRITES
    }

    /// Whether another write of the peer may be refused; otherwise the peer has exceeded its limit.
    pub fn may_refuse(&self) -> bool {
        let waiting = self.refused.max(self.refused_in_memory.len() as u32);
        waiting < MAX_WRITES && self.unacknowledged_refusals < MAX_REFUSALS
    }

    /// Why write frame `number`, which came over shared memory, was refused, while the peer has not acknowledged that.
    pub fn refused_in_memory(&self, number: u64) -> Option<Refusal> {
        self.refused_in_memory.get(&number).copied()
    }

    /// The peer has acknowledged the refusal of write frame `number`: it will not retransmit it.
    pub fn refusal_acknowledged(&mut self, number: u64) {
        self.unacknowledged_refusals -= 1;
        self.refused_in_memory.remove(&number);
        // Numbers of refused frames were gaps before: this adds none beyond the bound.
        let _ = self.record(number);
    }

    /// A frame of a write is sent.
    pub fn write_sent(&mut self) {
        self.writes_in_flight += 1;
    }

    /// `count` frames of writes were acknowledged. True if others waited for that.
    pub fn writes_acknowledged(&mut self, count: u32) -> bool {
        let waited = !self.may_write();
        self.writes_in_flight -= count;
        waited && count > 0
    }

    /// The peer has acknowledged all of a response. True if reads waited for that.
    pub fn response_acknowledged(&mut self) -> bool {
        self.responses -= 1;
        !self.pending_reads.is_empty()
    }
}

impl VirtualChannel {
    /// Queues a short write, of `len` bytes.
    pub fn enqueue_write(&mut self, send: Key<Send>, len: u64) {
        self.remote().writes.push_back(send);
        self.pending += len;
    }

    /// Queues a request to read.
    pub fn enqueue_read(&mut self, read: Body) {
        self.remote().reads.push_back(read);
    }

    /// The peer reads `source` out of `region`.
    pub fn enqueue_pending_read(&mut self, region: RegionId, source: Payload, receive: ReceiveRef) {
        self.remote().pending_reads.push_back(PendingRead { region, source, receive });
    }

    /// Queues the refusal of a read. It takes over the charge of the read.
    pub fn refuse_read(&mut self, receive: ReceiveRef, why: Refusal) {
        let body = Body::Refused { what: Access::Read(receive), why };
        self.replies.push_back(Reply { body, credit_return: CreditReturn::RequestToSend });
    }

    /// A write that came over subchannel `index` is refused.
    pub fn refuse_write(&mut self, index: usize, refused: RefusedWrite) {
        let remote = self.remote.get_or_insert_default();
        remote.refused += 1;
        remote.unacknowledged_refusals += 1;
        if self.subchannels[index].is_in_memory {
            remote.refused_in_memory.insert(refused.frame.number, refused.why);
        }
        self.subchannels[index].refusals.push_back(refused);
    }

    /// `region` has ended: the reads of it that wait are refused.
    pub fn refuse_pending_reads(&mut self, region: RegionId) {
        let Some(remote) = &mut self.remote else { return };
        let all = std::mem::take(&mut remote.pending_reads).into_iter();
        let (ended, others): (VecDeque<_>, VecDeque<_>) = all.partition(|read| read.region == region);
        remote.pending_reads = others;
        ended.into_iter().for_each(|read| self.refuse_read(read.receive, Refusal::Key));
    }

    /// A send that is being striped is stopped, with `left` bytes uncut.
    pub fn remove_striped(&mut self, send: Key<Send>, left: u64) {
        self.striping_queue.retain(|key| *key != send);
        self.pending -= left;
    }

    /// The next refusal of a write. It goes before any frame with an acknowledgement over the same subchannel.
    pub(super) fn next_refusal(&mut self, now: Instant) -> Option<Transmit> {
        let remote = self.remote.as_mut().filter(|remote| remote.refused > 0)?;
        let index = self.subchannels.iter().position(|sub| sub.budget > 0 && !sub.refusals.is_empty())?;
        let RefusedWrite { frame: WriteFrame { number, write }, why } = self.subchannels[index].refusals.pop_front()?;
        remote.refused -= 1;
        let body = Body::Refused { what: Access::Write(write), why };
        Some(self.frame(now, index, body, NO_PAYLOAD, FrameOwner::Refusal(number)))
    }

    /// The oldest request to read.
    pub(super) fn read_request(&mut self, now: Instant) -> Option<Transmit> {
        self.remote.as_ref()?.reads.front()?;
        if !self.credit.allows_request() {
            return None;
        }
        let index = self.nearest(now)?;
        let mut body = self.remote().reads.pop_front()?;
        if let Body::Read { number, .. } = &mut body {
            *number = self.remote().take_number();
        }
        self.credit.spend(MESSAGE_CHARGE);
        Some(self.frame(now, index, body, NO_PAYLOAD, FrameOwner::Control))
    }

    /// The oldest short write without a subchannel.
    pub(super) fn queued_write(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        loop {
            let remote = self.remote.as_mut()?;
            let key = *remote.writes.front()?;
            let Some(send) = sends.get(key) else {
                remote.writes.pop_front();
                continue;
            };
            if !remote.may_write() {
                return None;
            }
            let len = send.source.len();
            let views = self.views(now);
            let index = usize::from(self.live[self.multiplex.choose(len, self.pending, &views)?]);
            let remote = self.remote();
            remote.writes.pop_front();
            remote.write_sent();
            self.pending -= len;
            if self.subchannels[index].budget > 0 {
                return self.message(now, index, key, sends);
            }
            self.subchannels[index].assigned.push_back(key);
        }
    }

    /// Turns pending reads into responses, as many as may be in progress.
    pub(super) fn start_responses(&mut self, sends: &mut GenerationalSlab<Send>) {
        while let Some(remote) = self.remote.as_mut().filter(|remote| remote.responses < MAX_RESPONSES)
            && let Some(PendingRead { region, source, receive }) = remote.pending_reads.pop_front()
        {
            remote.responses += 1;
            let len = source.len();
            let key = sends.insert(Send::read_response(self.id, region, source, receive));
            self.enqueue_striped(key, len);
        }
    }
}
