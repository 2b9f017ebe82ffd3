//! Remote memory access: commands of this side's user, and accesses of peers.
//!
//! A driver that can reach a peer's memory itself accesses it without the protocol: the engine says whether it may, and reports
//! the completions of such accesses like all others.

use super::incoming::{Incoming, IncomingFrames, Name, Target};
use super::{Engine, PostError, ProtocolViolation, SendKey};
use crate::channel::flow_control::PeerGrant;
use crate::channel::scheduler::send::{Purpose, Send};
use crate::channel::subchannel::{RefusedWrite, WriteFrame};
use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{Context, SubchannelId, VcId};
use crate::limits::INJECT_SIZE;
use crate::matching::reassembly::Reassembly;
use crate::memory::{MemoryAction, Payload, Placement};
use crate::registered_memory::{KeyInUse, Permission, RegionId, Registration};
use crate::request::{Completion, Failure, Operation, ReadRequest, Remote, WriteRequest};
use crate::wire::{Access, Body, ReceiveRef, Refusal, SendRef};

impl Engine {
    /// Lets peers access this memory.
    pub fn register(&mut self, registration: Registration) -> Result<(), KeyInUse> {
        self.regions.add(registration)
    }

    /// Whether peers may access memory of this side. The user is not notified of accesses without immediate data.
    pub fn is_accessible(&self) -> bool {
        self.regions.is_accessible()
    }

    /// All registered memory.
    pub fn registrations(&self) -> impl Iterator<Item = &Registration> {
        self.regions.iter()
    }

    /// Whether the driver may access memory of this peer itself now: the peer is not lost, and no earlier write is in flight.
    pub fn may_access_directly(&self, vc: VcId) -> bool {
        let channel = &self.vcs[vc.0 as usize];
        !channel.loopback && channel.may_access_directly()
    }

    /// The driver has made a write without immediate data itself, instead of [`Engine::post_write`].
    pub fn written_directly(&mut self, request: WriteRequest) {
        self.completions.extend(Send::write(request, true).completion(Ok(())));
    }

    /// The driver has made a read itself, instead of [`Engine::post_read`].
    pub fn read_directly(&mut self, request: ReadRequest) {
        self.completions.extend(Reassembly::of_read(request).completion(false, None));
    }

    /// Number of short reads and atomic operations that have come from peers: their initiators wait until they are done.
    pub fn incoming_requests(&self) -> u64 {
        self.incoming_requests
    }

    /// Refuses peers' accesses under `key` from now on. Once the memory actions are done, nothing accesses the memory any more.
    /// False if no memory is registered under `key`.
    pub fn deregister(&mut self, key: u64) -> bool {
        let Some((region, memory)) = self.regions.remove(key) else { return false };
        for at in 0..self.vcs.len() {
            let vc = VcId(at as u32);
            self.vcs[at].refuse_pending_reads(region);
            self.end_writes_into(vc, region);
            self.make_ready(vc);
        }
        self.end_responses_from(region);
        self.actions.push_back(MemoryAction::Detach(memory));
        true
    }

    /// Drops payloads of `vc` that are being read into `region`.
    fn end_writes_into(&mut self, vc: VcId, region: RegionId) {
        for (index, incoming) in frames(&mut self.incoming[vc.0 as usize]) {
            let Target::Memory { region: into, frame, .. } = incoming.into else { continue };
            if into != region {
                continue;
            }
            (incoming.into, incoming.name) = (Target::Nothing, Name::None);
            // A retransmission of it is refused anew.
            self.vcs[vc.0 as usize].remote().forget(frame.number);
            // This may exceed `MAX_REFUSALS` by one for each subchannel.
            self.vcs[vc.0 as usize].refuse_write(index, RefusedWrite { frame, why: Refusal::Key });
            self.actions.push_back(MemoryAction::Discard(SubchannelId { vc, index: index as u8 }));
        }
    }

    /// Whether responses to reads of this peer are unacknowledged whose memory is no longer registered.
    pub fn has_ended_sources(&self, vc: VcId) -> bool {
        self.sends.values().any(|send| send.vc == vc && send.source_ended)
    }

    fn end_responses_from(&mut self, region: RegionId) {
        for key in self.sends.keys_where(|send| send.purpose == Purpose::ReadResponse(region)) {
            let Some(send) = self.sends.get_mut(key) else { continue };
            send.source_ended = true;
            let left = send.stop();
            let channel = &mut self.vcs[send.vc.0 as usize];
            if left > 0 {
                channel.remove_striped(key, left);
                channel.refuse_read(send.receive(), Refusal::Key);
            }
            if send.is_delivered() {
                self.finish_send(key);
            }
        }
    }

    /// Posts a write into a peer's memory. It completes when the bytes are in place. After an injected one, poll transmits, then
    /// call [`Engine::detach`].
    pub fn post_write(&mut self, request: WriteRequest) -> Result<SendKey, PostError> {
        let (vc, len) = (request.vc, request.payload.len());
        self.check_inject(request.inject, len)?;
        if self.check_open(vc)?.loopback {
            self.loop_back_write(request);
            return Ok(SendKey(None));
        }
        let channel = &mut self.vcs[vc.0 as usize];
        let is_complete = request.inject || channel.is_short(len);
        let key = self.sends.insert(Send::write(request, is_complete));
        if is_complete {
            channel.enqueue_write(key, len);
        } else {
            channel.enqueue_striped(key, len);
        }
        self.make_ready(vc);
        Ok(SendKey(Some(key)))
    }

    /// Posts a read of a peer's memory.
    pub fn post_read(&mut self, request: ReadRequest) -> Result<(), PostError> {
        let (vc, len, Remote { key, address }) = (request.vc, request.buffer.len(), request.from);
        if self.check_open(vc)?.loopback {
            self.loop_back_read(request);
            return Ok(());
        }
        let reassembly = Reassembly::of_read(request);
        if len == 0 {
            self.finish_reassembly(reassembly);
            return Ok(());
        }
        let receive = ReceiveRef(self.reassemblies.insert(reassembly).number());
        self.vcs[vc.0 as usize].enqueue_read(Body::Read { number: 0, receive, key, address, len });
        self.make_ready(vc);
        Ok(())
    }

    /// A write into memory of this endpoint itself.
    fn loop_back_write(&mut self, request: WriteRequest) {
        let Remote { key, address } = request.to;
        let (vc, data, from) = (request.vc, request.data, request.payload.clone());
        let len = from.len();
        let found = self.regions.find(key, address, len, Permission::Write);
        let send = Send::write(request, true);
        let result = found.map_err(Failure::Refused).map(|(_, to)| self.copy(from, to));
        let reported = data.filter(|_| result.is_ok());
        self.completions.extend(send.completion(result));
        self.completions.extend(reported.map(|data| written(vc, data, len)));
    }

    fn loop_back_read(&mut self, request: ReadRequest) {
        let Remote { key, address } = request.from;
        let to = request.buffer.clone();
        let found = self.regions.find(key, address, to.len(), Permission::Read);
        let reassembly = Reassembly::of_read(request);
        let result = found.map_err(Failure::Refused).map(|(_, from)| self.copy(from, to));
        self.completions.extend(reassembly.completion(false, result.err()));
    }

    /// Copies through a bounce buffer, as the two may overlap.
    fn copy(&mut self, from: Payload, to: Payload) {
        if from.is_empty() {
            return;
        }
        let into = self.bounces.take();
        self.actions.push_back(MemoryAction::Fill { into, from });
        self.actions.push_back(MemoryAction::Copy { from: into, to });
        self.release(into);
    }

    pub(super) fn handle_write(
        &mut self,
        subchannel: SubchannelId,
        repetition: u8,
        frame: WriteFrame,
        data: Option<u64>,
        at: Remote,
        len: u32,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let number = frame.number;
        let is_repeated = self.vcs[subchannel.vc.0 as usize].remote().is_duplicate(number);
        if is_repeated && !self.supersede(subchannel.vc, Name::Write(number), repetition) {
            return Ok((Target::Nothing, Placement::Discard));
        }
        let refused = self.vcs[subchannel.vc.0 as usize].remote().refused_in_memory(number);
        let find = || self.regions.find(at.key, at.address, u64::from(len), Permission::Write);
        match refused.map_or_else(find, Err) {
            Ok((region, memory)) => {
                let channel = &mut self.vcs[subchannel.vc.0 as usize];
                channel.remote().record(number).map_err(|_| ProtocolViolation::Writes)?;
                Ok((Target::Memory { region, frame, data }, Placement::User(memory)))
            }
            Err(why) => {
                let channel = &mut self.vcs[subchannel.vc.0 as usize];
                if !channel.remote().may_refuse() {
                    return Err(ProtocolViolation::Writes);
                }
                channel.refuse_write(usize::from(subchannel.index), RefusedWrite { frame, why });
                self.make_ready(subchannel.vc);
                Ok((Target::Nothing, Placement::Discard))
            }
        }
    }

    /// Reports a peer's write with immediate data. `len`: payload of the frame with the data; the whole write, or 0 if the write took
    /// several frames, whose total length is not sent.
    pub(super) fn written(&mut self, vc: VcId, data: u64, len: u64) {
        self.completions.push_back(written(vc, data, len));
    }

    pub(super) fn handle_read(
        &mut self,
        vc: VcId,
        number: u64,
        receive: ReceiveRef,
        at: Remote,
        len: u64,
    ) -> Result<(), ProtocolViolation> {
        if len == 0 {
            return Err(ProtocolViolation::EmptyRead);
        }
        self.incoming_requests += u64::from(len <= INJECT_SIZE);
        if !self.vcs[vc.0 as usize].remote().record(number).map_err(|_| ProtocolViolation::Writes)? {
            return Ok(());
        }
        let found = self.regions.find(at.key, at.address, len, Permission::Read);
        self.charge(vc, PeerGrant::charge_request)?;
        let channel = &mut self.vcs[vc.0 as usize];
        match found {
            Ok((region, memory)) => channel.enqueue_pending_read(region, memory, receive),
            Err(why) => channel.refuse_read(receive, why),
        }
        self.make_ready(vc);
        Ok(())
    }

    /// A peer refuses an access of this side. The refusal may come twice.
    pub(super) fn handle_refused(&mut self, vc: VcId, what: Access, why: Refusal) -> Result<(), ProtocolViolation> {
        match what {
            Access::Write(write) => self.write_refused(vc, write, why),
            Access::Read(receive) => self.read_refused(vc, receive, why),
        }
    }

    /// A write is refused. Its frames in flight are still acknowledged, and it ends with the last of them.
    fn write_refused(&mut self, vc: VcId, write: SendRef, why: Refusal) -> Result<(), ProtocolViolation> {
        let Some(key) = Key::of_number(write.0) else { return Ok(()) };
        let Some(send) = self.sends.get_mut(key) else { return Ok(()) };
        if send.vc != vc || !send.is_write() || send.unacknowledged == 0 {
            return Err(ProtocolViolation::Refusal);
        }
        send.failure.get_or_insert(Failure::Refused(why));
        let left = send.stop();
        if left > 0 {
            self.vcs[vc.0 as usize].remove_striped(key, left);
        }
        Ok(())
    }

    /// A read is refused. It ends at once; stripes that are still on their way are dropped.
    fn read_refused(&mut self, vc: VcId, receive: ReceiveRef, why: Refusal) -> Result<(), ProtocolViolation> {
        let Some(key) = Key::of_number(receive.0) else { return Ok(()) };
        let Some(reassembly) = self.reassemblies.get(key) else { return Ok(()) };
        let is_asked = reassembly.vc == vc && self.may_be_answered(reassembly);
        if !is_asked || !self.reassemblies.get_mut(key).is_some_and(|reassembly| reassembly.refuse(why)) {
            return Err(ProtocolViolation::Refusal);
        }
        for (index, incoming) in frames(&mut self.incoming[vc.0 as usize]) {
            if matches!(incoming.into, Target::Reassembly(into) if into == key) {
                (incoming.into, incoming.name) = (Target::Nothing, Name::None);
                self.actions.push_back(MemoryAction::Discard(SubchannelId { vc, index: index as u8 }));
            }
        }
        if let Some(reassembly) = self.reassemblies.remove(key) {
            self.finish_reassembly(reassembly);
        }
        Ok(())
    }

    /// Queues the last frame, with the immediate data, of a long write whose pieces are acknowledged. False if it has none.
    pub(super) fn follow_up(&mut self, key: Key<Send>) -> bool {
        let Some(send) = self.sends.get_mut(key).filter(|send| send.needs_immediate_data_frame()) else { return false };
        let vc = send.vc;
        let channel = &mut self.vcs[vc.0 as usize];
        if let Some(stripes) = send.take_stripes() {
            channel.stripes_delivered(&stripes);
        }
        channel.enqueue_write(key, 0);
        self.make_ready(vc);
        true
    }
}

/// The completion that reports a peer's write.
fn written(vc: VcId, data: u64, len: u64) -> Completion {
    Completion {
        context: Context(0),
        operation: Operation::RemoteWrite,
        envelope: Envelope::Message,
        data: Some(data),
        len,
        source: Some(vc),
        placed: None,
        buffer_released: false,
        result: Ok(()),
    }
}

/// All frames that are being read from a peer, with the indices of their subchannels.
fn frames(incoming: &mut [IncomingFrames]) -> impl Iterator<Item = (usize, &mut Incoming)> {
    incoming.iter_mut().enumerate().flat_map(|(index, frames)| frames.iter_mut().map(move |frame| (index, frame)))
}
