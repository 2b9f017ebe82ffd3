//! Matching as plain lists: the oracle. What an engine must report of receives, peeks and messages that arrive whole.

use fishplate_engine::{
    Completion, Context, Envelope, Extent, Failure, Operation, Pattern, PeekAction, PeekRequest, RecvRequest, VcId,
};

#[derive(Clone, Copy)]
pub struct Message {
    /// Returned as immediate data.
    pub id: u64,
    pub vc: VcId,
    pub envelope: Envelope,
    pub len: u64,
}

struct Receive {
    request: RecvRequest,
    used: u64,
}

#[derive(Default)]
pub struct Lists {
    receives: Vec<Receive>,
    unexpected: Vec<Message>,
    claims: Vec<(Context, Message)>,
    lost: Vec<VcId>,
    /// Expected reports, in order.
    pub completions: Vec<Completion>,
}

impl Lists {
    /// Most that waits at once, of receives or of messages.
    pub fn longest(&self) -> usize {
        self.receives.len().max(self.unexpected.len())
    }

    pub fn arrive(&mut self, message: Message) {
        let accepts = |receive: &Receive| receive.request.pattern.accepts(message.vc, message.envelope);
        match self.receives.iter().position(accepts) {
            None => self.unexpected.push(message),
            Some(at) => {
                let completion = self.receives[at].take(message);
                if completion.buffer_released || self.receives[at].request.multi_min_free.is_none() {
                    self.receives.remove(at);
                }
                self.completions.push(completion);
            }
        }
    }

    fn find(&self, pattern: &Pattern) -> Option<usize> {
        self.unexpected.iter().position(|message| pattern.accepts(message.vc, message.envelope))
    }

    pub fn receive(&mut self, request: RecvRequest) {
        let is_multi = request.multi_min_free.is_some();
        let mut receive = Receive { request, used: 0 };
        while let Some(at) = self.find(&receive.request.pattern) {
            let completion = receive.take(self.unexpected.remove(at));
            let is_over = !is_multi || completion.buffer_released;
            self.completions.push(completion);
            if is_over {
                return;
            }
        }
        if receive.request.pattern.source.is_some_and(|source| self.lost.contains(&source)) {
            self.completions.push(receive.failed(Failure::PeerLost("".into())));
        } else {
            self.receives.push(receive);
        }
    }

    pub fn peek(&mut self, peek: PeekRequest) {
        let found = self.find(&peek.pattern);
        let completion = match found {
            Some(at) => Completion { operation: Operation::Peek, ..completed(peek.context, &self.unexpected[at]) },
            None => {
                Completion { operation: Operation::Peek, ..failed(peek.context, &peek.pattern, Failure::NoMessage) }
            }
        };
        self.completions.push(completion);
        if let Some(at) = found.filter(|_| peek.then != PeekAction::Leave) {
            let message = self.unexpected.remove(at);
            if peek.then == PeekAction::Claim {
                self.claims.push((peek.context, message));
            }
        }
    }

    pub fn claims(&self) -> impl Iterator<Item = Context> + '_ {
        self.claims.iter().map(|(context, _)| *context)
    }

    fn take_claimed(&mut self, context: Context) -> Option<Message> {
        let at = self.claims.iter().position(|(of, _)| *of == context)?;
        Some(self.claims.remove(at).1)
    }

    pub fn receive_claimed(&mut self, request: RecvRequest) -> bool {
        let Some(message) = self.take_claimed(request.context) else { return false };
        self.completions.push(Receive { request, used: 0 }.take(message));
        true
    }

    pub fn discard_claimed(&mut self, context: Context) -> bool {
        let Some(message) = self.take_claimed(context) else { return false };
        self.completions.push(completed(context, &message));
        true
    }

    /// Contexts of the receives that wait.
    pub fn waiting(&self) -> impl Iterator<Item = Context> + '_ {
        self.receives.iter().map(|receive| receive.request.context)
    }

    pub fn cancel(&mut self, context: Context) -> bool {
        let Some(at) = self.waiting().position(|of| of == context) else { return false };
        self.completions.push(self.receives.remove(at).failed(Failure::Cancelled));
        true
    }

    /// What has arrived of the peer can still be received; in which order its receives fail is not said.
    pub fn lose(&mut self, vc: VcId) {
        self.lost.push(vc);
        let lost = self.receives.extract_if(.., |receive| receive.request.pattern.source == Some(vc));
        self.completions.extend(lost.map(|receive| receive.failed(Failure::PeerLost("".into()))));
    }
}

impl Receive {
    fn failed(&self, failure: Failure) -> Completion {
        let buffer_released = self.request.multi_min_free.is_some();
        Completion { buffer_released, ..failed(self.request.context, &self.request.pattern, failure) }
    }

    fn take(&mut self, message: Message) -> Completion {
        let all = self.request.buffer.extents()[0];
        let place = Extent { offset: all.offset + self.used, len: all.len - self.used, ..all };
        let len = message.len.min(place.len);
        let mut buffer_released = false;
        if let Some(min_free) = self.request.multi_min_free {
            self.used += len;
            buffer_released = all.len - self.used < min_free.max(1);
        }
        let excess = message.len - len;
        Completion {
            len,
            placed: Some(if self.request.multi_min_free.is_some() { Extent { len, ..place } } else { place }),
            buffer_released,
            result: if excess > 0 { Err(Failure::Truncated { excess }) } else { Ok(()) },
            ..completed(self.request.context, &message)
        }
    }
}

/// The end of an operation by a message, all of it.
fn completed(context: Context, message: &Message) -> Completion {
    Completion {
        context,
        operation: Operation::Recv,
        envelope: message.envelope,
        data: Some(message.id),
        len: message.len,
        source: Some(message.vc),
        placed: None,
        buffer_released: false,
        result: Ok(()),
    }
}

/// The end of an operation without a message.
fn failed(context: Context, pattern: &Pattern, failure: Failure) -> Completion {
    Completion {
        context,
        operation: Operation::Recv,
        envelope: pattern.envelope(),
        data: None,
        len: 0,
        source: None,
        placed: None,
        buffer_released: false,
        result: Err(failure),
    }
}
