//! A receive that has taken a message.

use crate::envelope::Envelope;
use crate::ids::{Context, VcId};
use crate::memory::Payload;
use crate::request::{Completion, Failure, Operation, RecvRequest};

/// What is left to know of it.
pub struct Taken {
    /// The key of a multi-receive buffer.
    pub key: u64,
    /// Where the message goes; for a single receive, the whole buffer.
    pub place: Payload,
    /// Returned in the completion.
    pub context: Context,
    /// Whether a success is reported.
    pub notify: bool,
    /// A multi-receive buffer.
    pub multi: bool,
}

impl Taken {
    /// A receive for a single message, which is not posted, takes it.
    #[inline]
    pub fn by(request: RecvRequest) -> Taken {
        let RecvRequest { buffer: place, context, notify, .. } = request;
        Taken { key: 0, place, context, notify, multi: false }
    }

    /// What to tell the user of a message of `len` bytes that is all in its place; nothing for a success that nobody asked to
    /// hear of.
    #[inline]
    pub fn completion(&self, source: VcId, (envelope, data): (Envelope, Option<u64>), len: u64) -> Option<Completion> {
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
