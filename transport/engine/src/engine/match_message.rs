//! Received messages: they are put in order, matched, and placed; rendezvous messages get a CTS.

use super::early_data::Announced;
use super::incoming::{Name, Target};
use super::{Engine, ProtocolViolation};
use crate::channel::CreditReturn;
use crate::channel::flow_control::PeerGrant;
use crate::channel::scheduler::send::{Destination, Stage};
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::matching::reassembly::Reassembly;
use crate::matching::receive::{MatchedReceive, Posted};
use crate::matching::unmatched::{self, OnceBuffered, UnmatchedMessage};
use crate::memory::{MemoryAction, Placement};
use crate::wire::{ReceiveRef, SendRef};

impl Engine {
    /// An eager message or an RTS has come, perhaps out of order.
    pub(super) fn handle_message(
        &mut self,
        seq: MessageSeq,
        message: UnmatchedMessage,
        repetition: u8,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let channel = &mut self.vcs[message.vc.0 as usize];
        if !channel.reorder.is_next(seq) && channel.reorder.has_received(seq) {
            return self.handle_retransmission(seq, message, repetition);
        }
        let (vc, charge) = (message.vc, message.charge);
        match message.content {
            unmatched::Content::Eager { .. } => self.charge(vc, |grant| grant.charge_eager(charge)),
            // A message without early data of which a piece has come: the peer contradicts itself.
            unmatched::Content::Rendezvous { early: 0, .. } if channel.early_data.get_mut(seq).is_some() => {
                return Err(ProtocolViolation::Stripe);
            }
            unmatched::Content::Rendezvous { early: 0, .. } => self.charge(vc, PeerGrant::charge_request),
            unmatched::Content::Rendezvous { early, .. } => {
                self.announce_early_data(&message, seq, early)?;
                self.charge(vc, |grant| grant.charge_eager(charge))
            }
        }?;
        let channel = &mut self.vcs[message.vc.0 as usize];
        if !channel.reorder.is_next(seq) {
            let key = self.unmatched.insert(message);
            let channel = &mut self.vcs[message.vc.0 as usize];
            if channel.reorder.store(seq, key).is_err() {
                self.unmatched.remove(key);
                return Err(ProtocolViolation::Sequence);
            }
            return Ok(self.buffer_payload(key));
        }
        let target = self.handle_in_order(message);
        while let Some(key) = self.vcs[message.vc.0 as usize].reorder.advance() {
            self.match_or_queue(key);
        }
        Ok(target)
    }

    /// Handles a message that is next in order, and whose payload, if it has one, follows.
    fn handle_in_order(&mut self, message: UnmatchedMessage) -> (Target, Placement) {
        let UnmatchedMessage { vc, envelope, len, .. } = message;
        let eager_with_payload = matches!(message.content, unmatched::Content::Eager { is_complete: false, .. });
        if !eager_with_payload {
            let key = self.unmatched.insert(message);
            self.match_or_queue(key);
            return (Target::Nothing, Placement::Discard);
        }
        match self.posted.take_match(vc, envelope, len) {
            Some(taken) => {
                self.release_charge(vc, message.charge);
                let mut reassembly = self.new_reassembly(taken, &message);
                let placement = reassembly.place_all();
                (Target::Reassembly(self.reassemblies.insert(reassembly)), placement)
            }
            None => {
                let key = self.unmatched.insert(message);
                self.unexpected.push(key, &message);
                self.buffer_payload(key)
            }
        }
    }

    /// The payload of an unmatched message follows: it goes into a bounce buffer.
    pub(super) fn buffer_payload(&mut self, key: Key<UnmatchedMessage>) -> (Target, Placement) {
        let Some(message) = self.unmatched.get_mut(key) else { return (Target::Nothing, Placement::Discard) };
        match &mut message.content {
            unmatched::Content::Eager { bounce, is_complete: false, .. } => {
                let id = self.bounces.take();
                *bounce = Some(id);
                (Target::Unmatched(key), Placement::Bounce(id))
            }
            _ => (Target::Nothing, Placement::Discard),
        }
    }

    /// An unmatched message is next in order: a posted receive takes it, or it joins the unexpected messages.
    pub(super) fn match_or_queue(&mut self, key: Key<UnmatchedMessage>) {
        let Some(message) = self.unmatched.get(key) else { return };
        let &UnmatchedMessage { vc, envelope, len, content, .. } = message;
        match self.posted.take_match(vc, envelope, len) {
            Some(taken) => self.deliver_to(taken, key),
            None => {
                self.unexpected.push(key, message);
                if let unmatched::Content::Rendezvous { seq, early: 0, .. } = content {
                    self.vcs[vc.0 as usize].add_early_candidate(seq, key, len);
                    self.grant_for_short(vc, len);
                }
            }
        }
    }

    /// Multi-receive buffer `key` takes an unmatched message.
    pub(super) fn deliver_to_posted(&mut self, key: Key<Posted>, message: Key<UnmatchedMessage>) {
        let len = self.unmatched.get(message).map_or(0, |message| message.len);
        if let Some(taken) = self.posted.take(key, len) {
            self.deliver_to(taken, message);
        }
    }

    /// A receive has taken unmatched message `key`.
    pub(super) fn deliver_to(&mut self, taken: MatchedReceive, key: Key<UnmatchedMessage>) {
        let Some(message) = self.unmatched.get(key).copied() else { return };
        let UnmatchedMessage { vc, len, content, charge, .. } = message;
        let mut reassembly = self.new_reassembly(taken, &message);
        match content {
            unmatched::Content::Rendezvous { send, seq, early: 0 } => {
                self.unmatched.remove(key);
                self.remove_early_candidate(vc, seq);
                self.send_clear_to_send(send, reassembly);
            }
            unmatched::Content::Rendezvous { send, seq, early } => {
                self.unmatched.remove(key);
                self.deliver_early_data(reassembly, Announced { send, seq, early, len });
            }
            unmatched::Content::Eager { is_complete: false, .. } => {
                // The whole payload is in a buffer, or on its way there: a stripe for this reassembly would be out of place.
                reassembly.place_all();
                let reassembly = self.reassemblies.insert(reassembly);
                self.set_once_buffered(key, OnceBuffered::Deliver(reassembly));
            }
            unmatched::Content::Eager { bounce, .. } => {
                self.unmatched.remove(key);
                self.release_charge(vc, charge);
                if let Some(from) = bounce {
                    self.actions.push_back(MemoryAction::Copy { from, to: reassembly.place().clone() });
                    self.release(from);
                }
                self.finish_reassembly(reassembly);
            }
        }
    }

    fn send_clear_to_send(&mut self, send: SendRef, reassembly: Reassembly) {
        let (vc, wanted) = (reassembly.vc, reassembly.wanted());
        let name = if wanted == 0 {
            self.finish_reassembly(reassembly);
            ReceiveRef::NONE
        } else {
            ReceiveRef(self.reassemblies.insert(reassembly).number())
        };
        self.vcs[vc.0 as usize].enqueue_clear_to_send(send, name, wanted, CreditReturn::RequestToSend);
        self.make_ready(vc);
    }

    pub(super) fn handle_clear_to_send(
        &mut self,
        vc: VcId,
        send: SendRef,
        receive: ReceiveRef,
        len: u64,
    ) -> Result<(), ProtocolViolation> {
        // A send that has ended had its CTS before, or was all early data.
        let Some(key) = Key::of_number(send.0) else { return Ok(()) };
        let Some(send) = self.sends.get_mut(key) else { return Ok(()) };
        if send.vc != vc || len > send.len() {
            return Err(ProtocolViolation::ClearToSend);
        }
        let channel = &mut self.vcs[vc.0 as usize];
        let (to, stripes) = match &mut send.stage {
            Stage::Cut { to: Destination::Announced, stripes } if receive == ReceiveRef::EARLY => {
                channel.early_data_requested(key, stripes, len);
                self.make_ready(vc);
                return Ok(());
            }
            // The final CTS has overtaken this request.
            Stage::Cut { .. } if receive == ReceiveRef::EARLY => return Ok(()),
            Stage::Cut { to: to @ Destination::Announced, stripes } => (to, stripes),
            Stage::Cut { to: Destination::Receive(before), .. } if *before == receive => return Ok(()),
            _ => return Err(ProtocolViolation::ClearToSend),
        };
        channel.clear_to_send(key, to, stripes, receive, len);
        if send.is_delivered() {
            self.finish_send(key);
        } else {
            self.make_ready(vc);
        }
        Ok(())
    }

    pub(super) fn handle_stripe(
        &mut self,
        vc: VcId,
        receive: ReceiveRef,
        repetition: u8,
        offset: u64,
        len: u32,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let nothing = (Target::Nothing, Placement::Discard);
        let (Some(key), len) = (Key::of_number(receive.0), u64::from(len)) else { return Ok(nothing) };
        let name = Name::Stripe(receive, offset);
        let is_unasked = |reassembly: &Reassembly| reassembly.vc == vc && !self.may_be_answered(reassembly);
        if self.reassemblies.get(key).is_some_and(is_unasked) {
            return Err(ProtocolViolation::Stripe);
        }
        let place = |engine: &mut Engine| {
            // A reassembly that has ended had all its stripes before: this one is a duplicate.
            let reassembly = engine.reassemblies.get_mut(key).filter(|reassembly| reassembly.vc == vc)?;
            Some(reassembly.place_stripe(offset, len).map_err(|_| reassembly.contains(offset, len)))
        };
        let placed = match place(self) {
            Some(Err(true)) if self.supersede(vc, name, repetition) => place(self),
            placed => placed,
        };
        match placed {
            Some(Ok(placement)) => Ok((Target::Reassembly(key), placement)),
            Some(Err(false)) => Err(ProtocolViolation::Stripe),
            Some(Err(true)) | None => Ok(nothing),
        }
    }

    /// `len` more bytes of reassembly `key` are in place.
    pub(super) fn bytes_placed(&mut self, key: Key<Reassembly>, len: u64) {
        let all = self.reassemblies.get_mut(key).is_some_and(|reassembly| reassembly.placed(len));
        if all && let Some(reassembly) = self.reassemblies.remove(key) {
            self.finish_reassembly(reassembly);
        }
    }

    /// All bytes of an unmatched message are in its buffer.
    pub(super) fn fully_buffered(&mut self, key: Key<UnmatchedMessage>) {
        let Some(message) = self.unmatched.get_mut(key) else { return };
        let unmatched::Content::Eager { bounce: Some(from), is_complete, once_buffered } = &mut message.content else {
            return;
        };
        *is_complete = true;
        let (from, once_buffered) = (*from, *once_buffered);
        if once_buffered == OnceBuffered::Wait {
            return;
        }
        let (vc, charge) = (message.vc, message.charge);
        self.unmatched.remove(key);
        self.release_charge(vc, charge);
        if let OnceBuffered::Deliver(key) = once_buffered
            && let Some(reassembly) = self.reassemblies.remove(key)
        {
            self.actions.push_back(MemoryAction::Copy { from, to: reassembly.place().clone() });
            self.finish_reassembly(reassembly);
        }
        self.release(from);
    }

    fn set_once_buffered(&mut self, key: Key<UnmatchedMessage>, new: OnceBuffered) {
        if let Some(UnmatchedMessage { content: unmatched::Content::Eager { once_buffered, .. }, .. }) =
            self.unmatched.get_mut(key)
        {
            *once_buffered = new;
        }
    }

    /// The reassembly of a message that has matched a receive.
    pub(super) fn new_reassembly(&mut self, taken: MatchedReceive, message: &UnmatchedMessage) -> Reassembly {
        let UnmatchedMessage { vc, envelope, data, len, .. } = *message;
        let mut reassembly = Reassembly::new(taken, vc, envelope, data, len);
        reassembly.report_position = reassembly.multi.map(|_| self.vcs[vc.0 as usize].completion_order.reserve());
        reassembly
    }

    pub(super) fn finish_reassembly(&mut self, reassembly: Reassembly) {
        if let Some(operands) = reassembly.atomic_operands() {
            self.atomic_answered(reassembly.vc, operands);
        }
        if let Some(seq) = reassembly.early_data {
            self.vcs[reassembly.vc.0 as usize].early_data.remove(seq);
        }
        let Some(position) = reassembly.report_position else { return self.report_completion(&reassembly) };
        let vc = reassembly.vc.0 as usize;
        self.vcs[vc].completion_order.completed(position, reassembly);
        while let Some(reassembly) = self.vcs[vc].completion_order.next() {
            self.report_completion(&reassembly);
        }
    }

    pub(super) fn report_completion(&mut self, reassembly: &Reassembly) {
        let released = reassembly.multi.is_some_and(|key| self.posted.message_done(key));
        self.completions.extend(reassembly.completion(released, None));
    }

    /// An unexpected message is dropped.
    pub(super) fn discard(&mut self, key: Key<UnmatchedMessage>) {
        let Some(&UnmatchedMessage { vc, content, charge, len, .. }) = self.unmatched.get(key) else { return };
        match content {
            unmatched::Content::Eager { is_complete: false, .. } => self.set_once_buffered(key, OnceBuffered::Drop),
            unmatched::Content::Eager { bounce, .. } => {
                self.unmatched.remove(key);
                self.release_charge(vc, charge);
                bounce.into_iter().for_each(|bounce| self.release(bounce));
            }
            unmatched::Content::Rendezvous { send, seq, early: 0 } => {
                self.unmatched.remove(key);
                self.remove_early_candidate(vc, seq);
                self.vcs[vc.0 as usize].enqueue_clear_to_send(send, ReceiveRef::NONE, 0, CreditReturn::RequestToSend);
                self.make_ready(vc);
            }
            unmatched::Content::Rendezvous { send, seq, early } => {
                self.unmatched.remove(key);
                self.discard_early_data(vc, Announced { send, seq, early, len });
            }
        }
    }
}
