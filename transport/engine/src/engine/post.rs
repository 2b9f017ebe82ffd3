//! Commands of the user.

use super::Engine;
use crate::channel::scheduler::send::{Send, Stage};
use crate::channel::{State, VirtualChannel};
use crate::generational_slab::Key;
use crate::ids::{Context, VcId};
use crate::limits::{INJECT_SIZE, MAX_INJECTED};
use crate::matching::receive::MatchedReceive;
use crate::matching::unmatched::{Content, OnceBuffered, UnmatchedMessage};
use crate::memory::{MemoryAction, Source};
use crate::request::{
    Completion, Failure, Operation, Pattern, PeekAction, PeekRequest, RecvRequest, SendRequest, Space,
};

/// Why an operation was not posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The copies of injected messages fill their memory ([`MAX_INJECTED`]): make progress, then try again.
    Again,
    /// An injected message longer than [`INJECT_SIZE`].
    TooLong,
    /// Operands or result of an atomic operation have another length than it says.
    Mismatch,
    /// The peer is lost.
    Failed(Failure),
}

/// Names a posted send. `None`: it was to this endpoint itself, and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendKey(pub(super) Option<Key<Send>>);

impl Engine {
    /// Posts a send. After an injected one, poll transmits, then call [`Engine::detach`].
    pub fn post_send(&mut self, request: SendRequest) -> Result<SendKey, PostError> {
        let (vc, len) = (request.vc, request.payload.len());
        self.check_inject(request.inject, len)?;
        if self.check_open(vc)?.loopback {
            self.loop_back(request);
            return Ok(SendKey(None));
        }
        let channel = &mut self.vcs[vc.0 as usize];
        let seq = channel.take_seq();
        let key = self.sends.insert(Send::new(request, seq));
        channel.enqueue(key, len);
        self.make_ready(vc);
        Ok(SendKey(Some(key)))
    }

    /// Checks the limits of an injected send of `len` bytes; does nothing without `inject`.
    pub(super) fn check_inject(&self, inject: bool, len: u64) -> Result<(), PostError> {
        match inject {
            true if len > INJECT_SIZE => Err(PostError::TooLong),
            true if self.injected >= MAX_INJECTED => Err(PostError::Again),
            _ => Ok(()),
        }
    }

    /// The channel, unless its peer is lost.
    pub(super) fn check_open(&self, vc: VcId) -> Result<&VirtualChannel, PostError> {
        let channel = &self.vcs[vc.0 as usize];
        match &channel.state {
            State::Lost(why) => Err(PostError::Failed(Failure::PeerLost(why.clone()))),
            State::Open => Ok(channel),
        }
    }

    /// Ends the use of an injected send's payload. It may have to be retransmitted, so that the returned action copies it; do that
    /// before the posting call returns to the user.
    #[must_use]
    pub fn detach(&mut self, key: SendKey) -> Option<MemoryAction> {
        let send = self.sends.get_mut(key.0?)?;
        let Source::User(payload) = &send.source else { return None };
        let len = payload.len();
        if len == 0 {
            return None;
        }
        let id = self.bounces.take();
        let before = std::mem::replace(&mut send.source, Source::Bounce { id, offset: 0, len });
        self.injected += len;
        let Source::User(from) = before else { return None };
        Some(MemoryAction::Fill { into: id, from })
    }

    /// [`Engine::detach`] without a copy, for a send that has gone as one frame over a subchannel in shared memory, with nothing left
    /// in the driver's queue: shared memory holds the copy. False if it has not; then call [`Engine::detach`].
    pub fn keep_sent(&mut self, key: SendKey) -> bool {
        let Some(send) = key.0.and_then(|key| self.sends.get_mut(key)) else { return true };
        let is_sent = matches!(send.stage, Stage::Sent) && self.vcs[send.vc.0 as usize].in_memory().is_some();
        if is_sent {
            send.source = Source::Sent { len: send.len() };
        }
        is_sent
    }

    /// Posts a receive. An unexpected message that matches is taken at once.
    pub fn post_recv(&mut self, request: RecvRequest) {
        let pattern = request.pattern;
        if let Some(why) = pattern.source.and_then(|source| self.lost_peers(source)) {
            // Messages that had arrived before the loss can still be received.
            if self.unexpected.find(&pattern, &self.unmatched).is_none() {
                self.completions.push_back(failed_recv(&request, Failure::PeerLost(why)));
                return;
            }
        }
        match self.unexpected.take(&pattern, &self.unmatched) {
            None => self.posted.post(request),
            Some(message) if request.multi_min_free.is_none() => self.deliver_to(MatchedReceive::of(request), message),
            Some(message) => self.fill(request, message),
        }
    }

    /// Posts a multi-receive buffer that takes the unexpected message `first`, and then all others that match, while it has room.
    fn fill(&mut self, request: RecvRequest, first: Key<UnmatchedMessage>) {
        let pattern = request.pattern;
        let key = self.posted.open(request);
        let mut next = Some(first);
        while let Some(message) = next {
            self.deliver_to_posted(key, message);
            let is_open = self.posted.is_open(key);
            next = if is_open { self.unexpected.take(&pattern, &self.unmatched) } else { None };
        }
        if !self.posted.is_open(key) {
            return;
        }
        self.posted.wait(key);
        if let Some(source) = pattern.source
            && let Some(why) = self.lost_peers(source)
        {
            self.fail_directed(source, &Failure::PeerLost(why));
        }
    }

    /// Searches for an unexpected message. Always ends with a completion, [`Failure::NoMessage`] for a miss.
    pub fn peek(&mut self, request: PeekRequest) {
        let found = self.unexpected.find(&request.pattern, &self.unmatched);
        let message = found.and_then(|key| self.unmatched.get(key).copied());
        self.completions.push_back(Completion {
            context: request.context,
            operation: Operation::Peek,
            envelope: message.map_or(request.pattern.envelope(), |message| message.envelope),
            data: message.and_then(|message| message.data),
            len: message.map_or(0, |message| message.len),
            source: message.map(|message| message.vc),
            placed: None,
            buffer_released: false,
            result: if message.is_some() { Ok(()) } else { Err(Failure::NoMessage) },
        });
        let (Some(key), Some(message)) = (found, message) else { return };
        match request.then {
            PeekAction::Leave => {}
            PeekAction::Claim => {
                self.unexpected.take(&request.pattern, &self.unmatched);
                self.unexpected.claim(request.context, message.vc, key);
            }
            PeekAction::Discard => {
                self.unexpected.take(&request.pattern, &self.unmatched);
                self.discard(key);
            }
        }
    }

    /// Drops the messages that no receive has matched, claimed or not, as the user closes the endpoint. Senders of announced messages
    /// get a CTS for 0 bytes, so that they need not wait.
    pub fn discard_unexpected(&mut self) {
        for space in [Space::Message, Space::Tagged { tag: 0, ignore: u64::MAX }] {
            while let Some(key) = self.unexpected.take(&Pattern { space, source: None }, &self.unmatched) {
                self.discard(key);
            }
        }
        while let Some(key) = self.unexpected.take_any_claimed() {
            self.discard(key);
        }
    }

    /// Receives the message that a peek has claimed under the same context; false if there is none. Not into a multi-receive
    /// buffer.
    pub fn recv_claimed(&mut self, request: RecvRequest) -> bool {
        let Some(message) = self.unexpected.take_claimed(request.context) else { return false };
        self.deliver_to(MatchedReceive::of(request), message);
        true
    }

    /// Drops the message that a peek has claimed under `context`, with a completion; false if there is none.
    pub fn discard_claimed(&mut self, context: Context) -> bool {
        let Some(key) = self.unexpected.take_claimed(context) else { return false };
        let Some(message) = self.unmatched.get(key).copied() else { return false };
        self.discard(key);
        self.completions.push_back(Completion {
            context,
            operation: Operation::Recv,
            envelope: message.envelope,
            data: message.data,
            len: message.len,
            source: Some(message.vc),
            placed: None,
            buffer_released: false,
            result: Ok(()),
        });
        true
    }

    /// Cancels a receive that no message has matched: it completes with [`Failure::Cancelled`]. False if there is no such receive, or
    /// a message is on its way into it.
    pub fn cancel(&mut self, context: Context) -> bool {
        let Some(request) = self.posted.cancel(context) else { return false };
        self.completions.push_back(failed_recv(&request, Failure::Cancelled));
        true
    }

    /// A message to this endpoint itself: it arrives at once, through a bounce buffer.
    fn loop_back(&mut self, request: SendRequest) {
        let len = request.payload.len();
        let bounce = (len > 0).then(|| {
            let into = self.bounces.take();
            self.actions.push_back(MemoryAction::Fill { into, from: request.payload.clone() });
            into
        });
        let vc = request.vc;
        let content = Content::Eager { bounce, is_complete: true, once_buffered: OnceBuffered::Wait };
        let message = UnmatchedMessage { vc, envelope: request.envelope, data: request.data, len, content, charge: 0 };
        if let Some(completion) = Send::new(request, Default::default()).completion(Ok(())) {
            self.completions.push_back(completion);
        }
        let key = self.unmatched.insert(message);
        self.match_or_queue(key);
    }

    fn lost_peers(&self, vc: VcId) -> Option<std::sync::Arc<str>> {
        match &self.vcs[vc.0 as usize].state {
            State::Lost(why) => Some(why.clone()),
            State::Open => None,
        }
    }
}

/// The completion of a receive that no message has matched.
pub(super) fn failed_recv(request: &RecvRequest, failure: Failure) -> Completion {
    Completion {
        context: request.context,
        operation: Operation::Recv,
        envelope: request.pattern.envelope(),
        data: None,
        len: 0,
        source: None,
        placed: None,
        buffer_released: request.multi_min_free.is_some(),
        result: Err(failure),
    }
}
