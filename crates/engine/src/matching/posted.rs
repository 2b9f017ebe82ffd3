//! Receives that wait for a message.

use std::collections::VecDeque;

use crate::envelope::Envelope;
use crate::generational_slab::GenerationalSlab;
use crate::ids::{Context, VcId};
use crate::memory::Payload;
use crate::request::{Completion, Failure, Operation, Pattern, RecvRequest, Space};

/// A posted receive.
#[derive(Debug)]
pub struct Posted {
    /// What the user asked for.
    pub request: RecvRequest,
    /// Multi-receive: bytes at the start of the buffer that messages have.
    used: u64,
    /// Multi-receive: messages that are on their way into the buffer.
    pub in_progress: u32,
    /// It takes no further message.
    pub closed: bool,
}

impl Posted {
    /// Whether this is a multi-receive buffer.
    pub fn is_multi(&self) -> bool {
        self.request.multi_min_free.is_some()
    }

    /// Takes room for a message of `len` bytes. A multi-receive buffer with too little room left is closed.
    fn reserve(&mut self, len: u64) -> Payload {
        let Some(min_free) = self.request.multi_min_free else { return self.request.buffer.clone() };
        let place = self.request.buffer.slice(self.used, len);
        self.used += place.len();
        self.in_progress += 1;
        self.closed = self.request.buffer.len() - self.used < min_free.max(1);
        place
    }
}

#[derive(Clone, Copy)]
struct Waiting {
    pattern: Pattern,
    key: u64,
}

/// All posted receives.
#[derive(Default)]
pub struct PostedQueue {
    table: GenerationalSlab<Posted>,
    tagged: VecDeque<Waiting>,
    untagged: VecDeque<Waiting>,
}

impl PostedQueue {
    /// Whether any tagged receive waits for a message.
    pub fn has_tagged(&self) -> bool {
        !self.tagged.is_empty()
    }
}

/// A receive that has taken a message.
pub struct Taken {
    /// Its key; still in the table only if it is a multi-receive buffer.
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

impl PostedQueue {
    /// Adds a receive behind all others; returns its key.
    #[inline]
    pub fn post(&mut self, request: RecvRequest) -> u64 {
        let pattern = request.pattern;
        let key = self.table.insert(Posted { request, used: 0, in_progress: 0, closed: false });
        self.waiting(pattern.space).push_back(Waiting { pattern, key });
        key
    }

    /// The oldest receive that accepts the message takes it, if it is one for a single message.
    #[inline]
    pub fn take_single(&mut self, source: VcId, envelope: Envelope) -> Option<Taken> {
        let waiting = match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        };
        // Mostly receives are posted in the order in which messages come.
        let is_first = waiting.front()?.pattern.accepts(source, envelope);
        let at =
            if is_first { 0 } else { waiting.iter().position(|waiting| waiting.pattern.accepts(source, envelope))? };
        let key = waiting[at].key;
        if self.table.get(key)?.is_multi() {
            return None;
        }
        if is_first {
            waiting.pop_front();
        } else {
            waiting.remove(at);
        }
        let RecvRequest { buffer: place, context, notify, .. } = self.table.remove(key)?.request;
        Some(Taken { key, place, context, notify, multi: false })
    }

    /// The oldest receive that accepts the message takes it.
    pub fn take_match(&mut self, source: VcId, envelope: Envelope, len: u64) -> Option<Taken> {
        let waiting = match envelope {
            Envelope::Message => &self.untagged,
            Envelope::Tagged(_) => &self.tagged,
        };
        let at = waiting.iter().position(|waiting| waiting.pattern.accepts(source, envelope))?;
        let key = waiting[at].key;
        let taken = self.take(key, len)?;
        if self.table.get(key).is_none_or(|posted| posted.closed) {
            match envelope {
                Envelope::Message => self.untagged.remove(at),
                Envelope::Tagged(_) => self.tagged.remove(at),
            };
        }
        Some(taken)
    }

    /// Receive `key` takes a message, wherever it stands in the queue. A closed one is left to `take_match` or
    /// [`PostedQueue::unlist`] to take out of the queue.
    pub fn take(&mut self, key: u64, len: u64) -> Option<Taken> {
        let posted = self.table.get_mut(key)?;
        let place = posted.reserve(len);
        let multi = posted.is_multi();
        let (context, notify) = (posted.request.context, posted.request.notify);
        if !multi {
            self.table.remove(key);
        }
        Some(Taken { key, place, context, notify, multi })
    }

    /// Whether receive `key` can take another message.
    pub fn is_open(&self, key: u64) -> bool {
        self.table.get(key).is_some_and(|posted| !posted.closed)
    }

    /// Takes receive `key` out of the queue; a multi-receive buffer stays known until its messages are complete.
    pub fn unlist(&mut self, key: u64, space: Space) {
        let waiting = self.waiting(space);
        // Mostly it was posted last.
        if let Some(at) = waiting.iter().rposition(|waiting| waiting.key == key) {
            waiting.remove(at);
        }
    }

    /// A message into multi-receive buffer `key` is complete. True if that was its last.
    pub fn message_done(&mut self, key: u64) -> bool {
        let Some(posted) = self.table.get_mut(key) else { return false };
        posted.in_progress -= 1;
        let done = posted.closed && posted.in_progress == 0;
        if done {
            self.table.remove(key);
        }
        done
    }

    /// Takes the receive posted under `context` out. `None` if there is none, or messages are on their way into it: it is
    /// then closed and ends with the last of them.
    pub fn cancel(&mut self, context: Context) -> Option<RecvRequest> {
        let find = |posted: &Posted| posted.request.context == context && !posted.closed;
        let key = *self.table.keys_where(find).first()?;
        let posted = self.table.get_mut(key)?;
        posted.closed = true;
        let in_progress = posted.in_progress > 0;
        let space = posted.request.pattern.space;
        self.unlist(key, space);
        if in_progress { None } else { self.table.remove(key).map(|posted| posted.request) }
    }

    /// Takes all receives out that only `source` could have matched.
    pub fn take_directed(&mut self, source: VcId) -> Vec<RecvRequest> {
        let directed = |posted: &Posted| posted.request.pattern.source == Some(source) && posted.in_progress == 0;
        let keys = self.table.keys_where(directed);
        let take = |key: &u64| {
            let posted = self.table.remove(*key)?;
            self.unlist(*key, posted.request.pattern.space);
            Some(posted.request)
        };
        keys.iter().filter_map(take).collect()
    }

    fn waiting(&mut self, space: Space) -> &mut VecDeque<Waiting> {
        match space {
            Space::Message => &mut self.untagged,
            Space::Tagged { .. } => &mut self.tagged,
        }
    }
}
