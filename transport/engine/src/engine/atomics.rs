//! Atomic operations: commands of this side's user, and operations of peers, which the driver applies to memory.

use super::incoming::{Name, Target};
use super::{Engine, PostError, ProtocolViolation, SendKey};
use crate::atomic::Atomic;
use crate::channel::State;
use crate::channel::receive::atomics::WaitingAtomic;
use crate::channel::scheduler::send::{AtomicSend, Send};
use crate::generational_slab::Key;
use crate::ids::VcId;
use crate::matching::reassembly::Reassembly;
use crate::memory::{ApplyId, BounceId, MemoryAction, Payload, Placement};
use crate::request::{AtomicRequest, Remote};
use crate::wire::{ReceiveRef, Refusal};

/// An operation that the driver is applying.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applying {
    vc: VcId,
    by: Origin,
    what: Atomic,
    operands: Option<BounceId>,
    result: Option<BounceId>,
}

/// Where the result of an operation goes.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The peer, by its name for the operation.
    Peer(ReceiveRef),
    /// This endpoint, to whose own memory the operation is: the key of the reassembly.
    Loopback(Key<Reassembly>),
}

impl Engine {
    /// Posts an atomic operation on a peer's memory. It completes when it is applied and its result has arrived. Poll transmits,
    /// then call [`Engine::detach`].
    pub fn post_atomic(&mut self, request: AtomicRequest) -> Result<SendKey, PostError> {
        let AtomicRequest { vc, to, what, operands, .. } = &request;
        let (vc, to, what) = (*vc, *to, *what);
        if operands.len() != what.operands_len() || request.result.len() != what.result_len() {
            return Err(PostError::Mismatch);
        }
        self.check_inject(true, operands.len())?;
        let operands = operands.clone();
        let is_loopback = self.check_open(vc)?.loopback;
        let number = if is_loopback { 0 } else { self.vcs[vc.0 as usize].remote().atomics.post() };
        let operation = self.reassemblies.insert(Reassembly::of_atomic(request, number));
        if is_loopback {
            self.loop_back_atomic(vc, operation, to, what, operands);
            return Ok(SendKey(None));
        }
        let atomic = AtomicSend { to, what, operation: ReceiveRef(operation.number()) };
        let key = self.sends.insert(Send::atomic(vc, atomic, operands));
        self.vcs[vc.0 as usize].enqueue_atomic(key);
        self.make_ready(vc);
        Ok(SendKey(Some(key)))
    }

    /// An operation on memory of this endpoint itself.
    fn loop_back_atomic(&mut self, vc: VcId, operation: Key<Reassembly>, at: Remote, what: Atomic, from: Payload) {
        let memory = match self.regions.find_array(at.key, at.address, &what) {
            Ok(memory) => memory,
            Err(why) => return self.atomic_ended(operation, Some(why)),
        };
        let operands = (!from.is_empty()).then(|| {
            let into = self.bounces.take();
            self.actions.push_back(MemoryAction::Fill { into, from });
            into
        });
        self.apply(vc, Origin::Loopback(operation), what, memory, operands);
    }

    fn apply(&mut self, vc: VcId, by: Origin, what: Atomic, to: Payload, operands: Option<BounceId>) {
        let result = what.fetches().then(|| self.bounces.take());
        let id = ApplyId(self.applying.insert(Applying { vc, by, what, operands, result }).number());
        self.actions.push_back(MemoryAction::Apply { id, what, to, operands, result });
    }

    /// The driver has applied an operation ([`MemoryAction::Apply`]), or refused to, leaving the memory unchanged.
    pub fn applied(&mut self, id: ApplyId, outcome: Result<(), Refusal>) {
        let applying = Key::of_number(id.0).and_then(|key| self.applying.remove(key));
        let Some(Applying { vc, by, what, operands, result }) = applying else { return };
        operands.into_iter().for_each(|operands| self.release(operands));
        match by {
            Origin::Loopback(operation) => {
                if let (Some(from), Some(reassembly)) = (result, self.reassemblies.get(operation)) {
                    if outcome.is_ok() {
                        let to = reassembly.place().clone();
                        self.actions.push_back(MemoryAction::Copy { from, to });
                    }
                    self.release(from);
                }
                self.atomic_ended(operation, outcome.err());
            }
            Origin::Peer(_) if self.vcs[vc.0 as usize].state != State::Open => {
                result.into_iter().for_each(|result| self.release(result));
            }
            Origin::Peer(operation) => {
                let is_refused = outcome.is_err();
                self.answer(vc, operation, what, outcome, result);
                // Operations that waited for room for the result need not any more.
                if is_refused {
                    self.apply_atomics(vc);
                }
            }
        }
    }

    fn answer(
        &mut self,
        vc: VcId,
        operation: ReceiveRef,
        what: Atomic,
        outcome: Result<(), Refusal>,
        result: Option<BounceId>,
    ) {
        match (outcome, result) {
            (Ok(()), Some(result)) => {
                let len = what.result_len();
                // Counted as an injected message: it is kept until it is acknowledged.
                self.injected += len;
                let key = self.sends.insert(Send::atomic_result(vc, result, len, operation));
                let channel = &mut self.vcs[vc.0 as usize];
                channel.remote().incoming_atomics.answered(&what);
                channel.enqueue_striped(key, len);
            }
            (Ok(()), None) => self.vcs[vc.0 as usize].answer_atomic(operation, what, None),
            (Err(why), result) => {
                result.into_iter().for_each(|result| self.release(result));
                let channel = &mut self.vcs[vc.0 as usize];
                channel.remote().incoming_atomics.result_ended(what.result_len());
                channel.answer_atomic(operation, what, Some(why));
            }
        }
        self.make_ready(vc);
    }

    /// The header of a peer's operation has come; its operands, if it has any, follow.
    pub(super) fn handle_atomic(
        &mut self,
        vc: VcId,
        number: u64,
        repetition: u8,
        atomic: WaitingAtomic,
    ) -> Result<(Target, Placement), ProtocolViolation> {
        let what = atomic.what;
        self.incoming_requests += 1;
        let has = |engine: &mut Engine| engine.vcs[vc.0 as usize].remote().incoming_atomics.has(number);
        if has(self) {
            self.supersede(vc, Name::Atomic(number), repetition);
            if has(self) {
                return Ok((Target::Nothing, Placement::Discard));
            }
        }
        while self.vcs[vc.0 as usize].remote().incoming_atomics.check(number, &what).is_err() {
            if !self.may_have_more_atomics(vc) {
                return Err(ProtocolViolation::Atomics);
            }
        }
        let operations = &mut self.vcs[vc.0 as usize].remote().incoming_atomics;
        let operands = (what.operands_len() > 0).then(|| self.bounces.take());
        operations.add(number, WaitingAtomic { operands, ..atomic });
        let Some(operands) = operands else {
            self.operands_received(vc, number);
            return Ok((Target::Nothing, Placement::Discard));
        };
        Ok((Target::Atomic(number), Placement::Bounce(operands)))
    }

    /// The operands of a peer's operation have arrived whole.
    pub(super) fn operands_received(&mut self, vc: VcId, number: u64) {
        self.vcs[vc.0 as usize].remote().incoming_atomics.complete(number);
        self.apply_atomics(vc);
    }

    /// Has the driver apply the peer's operations whose turn it is.
    pub(super) fn apply_atomics(&mut self, vc: VcId) {
        while let Some(next) = self.vcs[vc.0 as usize].remote().incoming_atomics.take_next() {
            let WaitingAtomic { operation, at, what, operands, .. } = next;
            match self.regions.find_array(at.key, at.address, &what) {
                Ok(memory) => self.apply(vc, Origin::Peer(operation), what, memory, operands),
                Err(why) => {
                    operands.into_iter().for_each(|operands| self.release(operands));
                    self.answer(vc, operation, what, Err(why), None);
                }
            }
        }
    }

    /// A result was acknowledged.
    pub(super) fn atomic_result_ended(&mut self, vc: VcId, len: u64) {
        self.vcs[vc.0 as usize].remote().incoming_atomics.result_ended(len);
        self.apply_atomics(vc);
    }

    /// The peer has applied an operation without a result. It may say so twice.
    pub(super) fn handle_applied(&mut self, vc: VcId, operation: ReceiveRef) -> Result<(), ProtocolViolation> {
        let Some(key) = Key::of_number(operation.0) else { return Ok(()) };
        let Some(reassembly) = self.reassemblies.get(key) else { return Ok(()) };
        if reassembly.vc != vc || !reassembly.is_atomic_without_result() || !self.may_be_answered(reassembly) {
            return Err(ProtocolViolation::Applied);
        }
        self.atomic_ended(key, None);
        Ok(())
    }

    /// Whether the peer can have answered what `reassembly` waits for. False for an atomic operation that is not sent yet.
    pub(super) fn may_be_answered(&self, reassembly: &Reassembly) -> bool {
        let remote = self.vcs[reassembly.vc.0 as usize].remote.as_ref();
        let was_sent = |number: u64| remote.is_some_and(|remote| remote.atomics.was_sent(number));
        reassembly.atomic_number().is_none_or(was_sent)
    }

    fn atomic_ended(&mut self, operation: Key<Reassembly>, why: Option<Refusal>) {
        let Some(mut reassembly) = self.reassemblies.remove(operation) else { return };
        why.into_iter().for_each(|why| {
            reassembly.refuse(why);
        });
        self.finish_reassembly(reassembly);
    }

    /// An operation of this side has ended: the window may allow others.
    pub(super) fn atomic_answered(&mut self, vc: VcId, operands: u64) {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.state == State::Open && !channel.loopback && channel.remote().atomics.answered(operands) {
            self.make_ready(vc);
        }
    }
}
