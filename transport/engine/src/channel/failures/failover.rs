//! Failover: frames and messages of a failed or retired subchannel go over the others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::channel::VirtualChannel;
use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::{Frame, FrameOwner};
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::generational_slab::{GenerationalSlab, Key};
use crate::ids::MessageSeq;
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::UnmatchedMessage;
use crate::time::Instant;
use crate::wire::{Access, Body, REPETITIONS, Refusal};

/// Causes of failures that are kept for the user's error message: the newest.
const MAX_CAUSES: usize = 8;

/// An eager message whose payload was cut off by a failure: it will be retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptedMessage {
    /// It has a receive: key of the reassembly.
    Reassembly(Key<Reassembly>),
    /// It has none: key of the unmatched message.
    Unmatched(Key<UnmatchedMessage>),
}

/// Frames and messages that subchannels had not delivered when they ended.
#[derive(Default)]
pub struct LeftBehind {
    /// Frames that were not acknowledged over subchannels that have failed.
    pub(in crate::channel) retransmit_queue: VecDeque<Frame>,
    /// Messages that were assigned to subchannels that have failed or retire: keys of sends.
    pub(in crate::channel) to_reassign: VecDeque<Key<Send>>,
    /// Why subchannels have failed.
    pub(in crate::channel) causes: Vec<Arc<str>>,
    /// When the peer counts as lost if no subchannel comes up.
    pub peer_timeout_at: Option<Instant>,
    /// Eager messages whose payload was cut off by a failure, by sequence number.
    pub interrupted: BTreeMap<u32, InterruptedMessage>,
}

impl VirtualChannel {
    /// Subchannel `index` has failed, because of `why`, or was closed: unacknowledged frames are retransmitted over others.
    /// Returns whether it took new frames until now, that is, had not retired.
    pub fn remove_subchannel(&mut self, now: Instant, index: usize, why: &str) -> bool {
        let is_retired = !self.carries(index) && !self.standby.contains(&(index as u8));
        self.subchannels[index].sample_lateness_at_end(now);
        self.end_subchannel(index);
        if is_retired {
            return false;
        }
        let causes = &mut self.left_behind.get_or_insert_default().causes;
        if causes.len() == MAX_CAUSES {
            causes.remove(0);
        }
        causes.push(why.into());
        true
    }

    /// Subchannel `index` has ended: unacknowledged frames are retransmitted over others, or wait for one.
    pub fn end_subchannel(&mut self, index: usize) {
        let subchannel = &mut self.subchannels[index];
        // The peer has no acknowledgement of these writes: it retransmits them, and they are refused again.
        let refusals = subchannel.refusals.drain(..).count();
        // Frames with data are bounded as they were on the subchannel, by its queue and its window. Probes are not
        // retransmitted.
        let mut frames = subchannel.end();
        frames.retain(|frame| frame.owner != FrameOwner::Ping);
        if !frames.is_empty() {
            self.left_behind.get_or_insert_default().retransmit_queue.extend(frames);
        }
        self.reassign(index);
        self.remote.iter_mut().for_each(|remote| remote.forget_refusals(refusals));
        self.take_out(index);
        if self.live.is_empty() {
            self.live = std::mem::take(&mut self.standby);
        }
        self.cached_choice = None;
        self.peer_grant.advertisement_lost();
    }

    /// Subchannel `index` gets no new frames from now on. Returns false, and does nothing, if it is the only live one.
    pub fn retire(&mut self, index: usize) -> bool {
        let stands_by = self.standby.contains(&(index as u8));
        if !stands_by && (self.live.len() < 2 || !self.carries(index)) {
            return false;
        }
        self.take_out(index);
        self.cached_choice = None;
        self.subchannels[index].liveness.retire();
        self.subchannels[index].estimate.fill_up_to(0);
        self.reassign(index);
        true
    }

    /// The payload of message `seq` was cut off.
    pub fn interrupted(&mut self, seq: MessageSeq, message: InterruptedMessage) {
        self.left_behind.get_or_insert_default().interrupted.insert(seq.0, message);
    }

    /// The messages that subchannel `index` has not taken go over others.
    pub(in crate::channel) fn reassign(&mut self, index: usize) {
        let assigned = std::mem::take(&mut self.subchannels[index].assigned);
        if !assigned.is_empty() {
            self.left_behind.get_or_insert_default().to_reassign.extend(assigned);
        }
    }

    /// Whether no frame or message of an ended subchannel waits to be sent.
    pub(in crate::channel) fn has_left_nothing(&self) -> bool {
        let is_nothing = |left: &LeftBehind| left.retransmit_queue.is_empty() && left.to_reassign.is_empty();
        self.left_behind.as_deref().is_none_or(is_nothing)
    }

    /// When the peer counts as lost unless a subchannel comes up.
    pub fn peer_timeout_at(&self) -> Option<Instant> {
        self.left_behind.as_ref()?.peer_timeout_at
    }

    /// Why there is no subchannel left, for the user.
    pub fn failure_causes(&self) -> String {
        let causes: Vec<&str> = self.left_behind.iter().flat_map(|left| &left.causes).map(|cause| &**cause).collect();
        causes.join("; ")
    }

    /// A message that was assigned to a subchannel that has failed or retires.
    pub(in crate::channel) fn reassigned_message(
        &mut self,
        now: Instant,
        sends: &mut GenerationalSlab<Send>,
    ) -> Option<Transmit> {
        let key = *self.left_behind.as_ref()?.to_reassign.front()?;
        let index = self.nearest(now)?;
        self.left_behind.as_mut()?.to_reassign.pop_front();
        self.message(now, index, key, sends)
    }

    /// A frame that was not acknowledged over a failed subchannel.
    pub(in crate::channel) fn retransmission(
        &mut self,
        now: Instant,
        sends: &mut GenerationalSlab<Send>,
    ) -> Option<Transmit> {
        loop {
            let waiting = &mut self.left_behind.as_mut()?.retransmit_queue;
            let frame = *waiting.front()?;
            let len = u64::from(frame.body.payload_len());
            let (mut body, mut source, mut copy) = (frame.body, NO_PAYLOAD, false);
            match frame.owner {
                FrameOwner::Send { key, offset } => {
                    let Some(send) = sends.get(key) else {
                        waiting.pop_front();
                        continue;
                    };
                    if send.source_ended {
                        // The memory that was read is not there any more.
                        body = Body::Refused { what: Access::Read(send.receive()), why: Refusal::Key };
                    } else {
                        source = send.source.slice(offset, len);
                        copy = self.copies_responses && send.is_response();
                    }
                }
                // The driver has not recovered its payload: there is nothing to send.
                FrameOwner::Message => {
                    waiting.pop_front();
                    continue;
                }
                FrameOwner::Refusal(_) | FrameOwner::Control | FrameOwner::Ping => {}
            }
            let index = self.earliest(now, len)?;
            self.left_behind.as_mut()?.retransmit_queue.pop_front();
            let mut transmit = self.frame(now, index, body, source, frame.owner);
            transmit.copy = copy;
            transmit.header.repetition = (frame.repetition + 1) % REPETITIONS;
            self.subchannels[index].set_repetition(transmit.header.repetition);
            return Some(transmit);
        }
    }
}
