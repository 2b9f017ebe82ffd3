//! Operations that the user posts: sends, receives, remote memory access.

use fishplate_engine::{
    AtomicRequest, Context, KeyInUse, MemoryAction, PeekRequest, PostError, ReadRequest, RecvRequest, Registration,
    SendKey, SendRequest, VcId, WriteRequest,
};

use super::Endpoint;

impl Endpoint {
    /// Posts a send, which completes when it is acknowledged. True if it needs no further progress.
    #[inline]
    pub fn send(&mut self, request: SendRequest) -> Result<bool, PostError> {
        if self.send_in_shared_memory(&request, false) {
            return Ok(true);
        }
        self.post_send(request).map(|_| false)
    }

    /// Posts a send, which completes as soon as its memory may be used again.
    #[inline]
    pub fn send_early(&mut self, request: SendRequest) -> Result<bool, PostError> {
        if self.send_in_shared_memory(&request, true) {
            return Ok(true);
        }
        let (inject, notify) = (request.inject, request.notify);
        let key = self.post_send(request)?;
        if inject && notify {
            self.engine.complete_injected(key);
        } else if !inject {
            self.engine.offer_for_buffering(key);
        }
        Ok(false)
    }

    fn post_send(&mut self, request: SendRequest) -> Result<SendKey, PostError> {
        let (vc, inject, len) = (request.vc, request.inject, request.payload.len());
        let key = self.engine.post_send(request)?;
        self.posted(vc, len, inject.then_some(key));
        Ok(key)
    }

    /// Posts a write into a peer's registered memory. It completes when the bytes are in place.
    pub fn write(&mut self, request: WriteRequest) -> Result<(), PostError> {
        if self.write_directly(&request) {
            return Ok(());
        }
        let (vc, inject, len) = (request.vc, request.inject, request.payload.len());
        let key = self.engine.post_write(request)?;
        self.posted(vc, len, inject.then_some(key));
        Ok(())
    }

    /// Posts a read of a peer's registered memory.
    pub fn read(&mut self, request: ReadRequest) -> Result<(), PostError> {
        if self.read_directly(&request) {
            return Ok(());
        }
        let (vc, len) = (request.vc, request.buffer.len());
        self.engine.post_read(request)?;
        self.posted(vc, len, None);
        Ok(())
    }

    /// Posts an atomic operation on a peer's registered memory. It completes when it is applied and its result has arrived.
    pub fn atomic(&mut self, request: AtomicRequest) -> Result<(), PostError> {
        let (vc, len) = (request.vc, request.operands.len());
        let key = self.engine.post_atomic(request)?;
        self.posted(vc, len, Some(key));
        Ok(())
    }

    /// An operation of `len` bytes for `vc` was posted; `injected`: its memory is valid only until this returns.
    fn posted(&mut self, vc: VcId, len: u64, injected: Option<SendKey>) {
        let now = self.clock.now();
        self.progress.now = now;
        self.progress.socket_polls.expect();
        let peer = &mut self.peers[vc];
        peer.burst.posted(now, self.progress.calls);
        if peer.is_unconnected() {
            self.connect(vc, now);
        }
        self.widen_for(vc, len, now);
        let flushes = self.links.tcp.flushes;
        self.pump(now);
        if self.links.tcp.flushes != flushes {
            self.peers[vc].burst.transmitted(self.clock.now());
        }
        injected.into_iter().for_each(|key| self.detach(vc, key));
        self.apply_memory_actions();
    }

    /// Ends the use of an injected send's memory.
    fn detach(&mut self, vc: VcId, key: SendKey) {
        if self.links.memory.has_sent_all(vc) && self.engine.keep_sent(key) {
            return;
        }
        if let Some(MemoryAction::Fill { into, from }) = self.engine.detach(key) {
            self.memory.read(&from, self.bounces.open(into));
        }
    }

    /// Lets peers access memory.
    pub fn register(&mut self, registration: Registration) -> Result<(), KeyInUse> {
        let shown = registration.clone();
        self.engine.register(registration)?;
        self.expose(&shown);
        Ok(())
    }

    /// Ends a registration. When this returns, the memory is not accessed any more. False if there is none under `key`.
    pub fn deregister(&mut self, key: u64) -> bool {
        self.end_exposure(key);
        let found = self.engine.deregister(key);
        self.apply_memory_actions();
        self.pump(self.clock.now());
        found
    }

    /// Posts a receive. A matching unexpected message is taken at once.
    pub fn recv(&mut self, request: RecvRequest) {
        self.engine.post_recv(request);
        self.progress.socket_polls.expect();
        self.apply_memory_actions();
    }

    /// Searches for an unexpected message. Always reports a completion ([`fishplate_engine::Failure::NoMessage`] for a miss).
    pub fn peek(&mut self, request: PeekRequest) {
        self.engine.peek(request);
        self.apply_memory_actions();
    }

    /// Receives the message that a peek claimed under the same context; false if there is none.
    pub fn recv_claimed(&mut self, request: RecvRequest) -> bool {
        let found = self.engine.recv_claimed(request);
        self.progress.socket_polls.expect();
        self.apply_memory_actions();
        found
    }

    /// Drops the message that a peek claimed under `context`, with a completion; false if there is none.
    pub fn discard_claimed(&mut self, context: Context) -> bool {
        let found = self.engine.discard_claimed(context);
        self.apply_memory_actions();
        found
    }

    /// Cancels a receive that has not matched: it completes with [`fishplate_engine::Failure::Cancelled`]. False: it takes its course.
    pub fn cancel(&mut self, context: Context) -> bool {
        self.engine.cancel(context)
    }
}
