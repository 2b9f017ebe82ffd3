//! A frame that a link has queued, as it could not send it yet, or not all of it.

use fishplate_engine::wire::Header;
use fishplate_engine::{Payload, Source};

use crate::link::Places;
use crate::sys::memory::overlaps;

/// A queued frame.
pub struct WaitingFrame {
    /// Its header.
    pub header: Header,
    /// Its payload, which may be empty.
    pub payload: Held,
    /// Its payload may be lent to the peer.
    pub may_lend: bool,
    /// Bytes of the payload that were sent; the header was sent if this is not 0.
    pub done: u64,
}

/// The payload of a queued frame.
pub enum Held {
    /// Where it is.
    Where(Source),
    /// Its bytes.
    Copied(Vec<u8>),
}

/// The payload of a frame that is sent.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    /// Where it is.
    Where(&'a Source),
    /// Its bytes.
    Copied(&'a [u8]),
}

impl WaitingFrame {
    /// Copies the payload if it is in the memory `ended`, which becomes invalid.
    pub fn detach(&mut self, ended: &Payload, places: Places<'_>) {
        if matches!(&self.payload, Held::Where(Source::User(payload)) if overlaps(payload, ended)) {
            (self.payload, self.may_lend) = (self.payload.content().copied(places), false);
        }
    }
}

impl Held {
    /// For sending it.
    #[inline]
    pub fn content(&self) -> Content<'_> {
        match self {
            Held::Where(source) => Content::Where(source),
            Held::Copied(bytes) => Content::Copied(bytes),
        }
    }
}

impl Content<'_> {
    /// Length in bytes.
    #[inline]
    pub fn payload_len(&self) -> u64 {
        match self {
            Content::Where(source) => source.len(),
            Content::Copied(bytes) => bytes.len() as u64,
        }
    }

    /// Calls `take` with `len` bytes from offset `from` on, piece by piece. They must be within the payload.
    #[inline]
    pub fn for_each(self, from: u64, len: usize, places: Places<'_>, mut take: impl FnMut(&[u8])) {
        match self {
            Content::Where(Source::User(payload)) => places.memory.for_each(payload, from, len as u64, take),
            Content::Where(Source::Bounce { id, offset, .. }) => {
                take(&places.bounces.get(*id)[(*offset + from) as usize..][..len]);
            }
            // Recovered before.
            Content::Where(Source::Sent { .. } | Source::Padding { .. }) => take(&vec![0; len]),
            Content::Copied(bytes) => take(&bytes[from as usize..][..len]),
        }
    }

    /// A copy of all of it.
    pub fn copied(self, places: Places<'_>) -> Held {
        let len = self.payload_len() as usize;
        let mut copy = Vec::with_capacity(len);
        self.for_each(0, len, places, |bytes| copy.extend_from_slice(bytes));
        Held::Copied(copy)
    }
}
