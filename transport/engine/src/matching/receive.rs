//! A receive, before ([`Posted`]) and after ([`MatchedReceive`]) its match.

use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{Context, VcId};
use crate::memory::Payload;
use crate::request::{Completion, Failure, Operation, RecvRequest};

#[derive(Debug)]
pub struct Posted {
    pub(super) request: RecvRequest,
    /// Multi-receive: bytes at the start of the buffer that messages use.
    pub(super) used: u64,
    /// Multi-receive: messages that are on their way into the buffer.
    pub(super) in_progress: u32,
    /// It takes no further message.
    pub(super) closed: bool,
    /// Number of receives posted before.
    pub(super) number: u64,
    /// Position of its class in the index; means something only while it is indexed.
    pub(super) class: u8,
}

impl Posted {
    /// Whether this is a multi-receive buffer.
    pub(super) fn is_multi(&self) -> bool {
        self.request.multi_min_free.is_some()
    }

    /// Allocates room for a message of `len` bytes. A multi-receive buffer with too little room left is closed.
    pub(super) fn reserve(&mut self, len: u64) -> Payload {
        let Some(min_free) = self.request.multi_min_free else { return self.request.buffer.clone() };
        let place = self.request.buffer.slice(self.used, len);
        self.used += place.len();
        self.in_progress += 1;
        self.closed = self.request.buffer.len() - self.used < min_free.max(1);
        place
    }
}

/// A receive that has taken a message.
pub struct MatchedReceive {
    /// Where the message goes; for a single receive, the whole buffer.
    pub place: Payload,
    /// Returned in the completion.
    pub context: Context,
    /// Whether a success is reported.
    pub notify: bool,
    /// The key of the multi-receive buffer, if it is one.
    pub multi: Option<Key<Posted>>,
}

impl MatchedReceive {
    /// From a receive for a single message that was not posted.
    #[inline]
    pub fn of(request: RecvRequest) -> MatchedReceive {
        let RecvRequest { buffer: place, context, notify, .. } = request;
        MatchedReceive { place, context, notify, multi: None }
    }

    /// The completion of a message of `len` bytes that is in place; `None` for a success without `notify`.
    #[inline]
    pub fn completion(&self, source: VcId, envelope: Envelope, data: Option<u64>, len: u64) -> Option<Completion> {
        let room = self.place.len();
        (self.notify || len > room).then(|| Completion {
            context: self.context,
            operation: Operation::Recv,
            envelope,
            data,
            len: len.min(room),
            source: Some(source),
            placed: self.place.extents().first().copied(),
            buffer_released: false,
            result: if len > room { Err(Failure::Truncated { excess: len - room }) } else { Ok(()) },
        })
    }
}
