//! Frames that wait in a driver's queue, and the segments that they travel in.

use fishplate_engine::wire::{self, Header, MAX_HEADER_LEN};
use fishplate_engine::{Extent, Payload, Source};

use super::data::{Contents, Data};
use super::memory::Memory;

#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    bytes: [u8; MAX_HEADER_LEN],
    len: usize,
}

impl Encoded {
    /// As it goes over the wire.
    pub fn new(header: &Header) -> Encoded {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        Encoded { bytes, len }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Its decoded header, if valid.
    pub fn header(&self) -> Option<Header> {
        wire::decode(self.bytes()).ok().flatten().map(|(header, _)| header)
    }

    /// The frame with other bytes, with the length that they then encode.
    pub fn spoilt(mut self, spoil: impl FnOnce(&mut [u8])) -> Encoded {
        spoil(&mut self.bytes);
        if let Ok(Some((_, len))) = wire::decode(&self.bytes) {
            self.len = len;
        }
        self
    }

    /// The frame with one bit flipped.
    pub fn with_flipped_bit(mut self, bit: usize) -> Encoded {
        let bit = bit % (8 * self.len);
        self.bytes[bit / 8] ^= 1 << (bit % 8);
        self
    }
}

/// Where a payload is until it is sent.
#[derive(Debug)]
pub enum Load {
    /// In memory that is read only when the socket takes it.
    Late(Source),
    /// In the queue.
    Copied(Data),
}

/// A frame in a driver's queue: what of it the socket has not taken yet.
#[derive(Debug)]
pub struct Frame {
    header: Option<Encoded>,
    load: Load,
    len: u64,
    sent: u64,
}

/// A unit of transmission: a header with the start of its payload, or a continuation of one.
#[derive(Debug)]
pub struct Segment {
    /// Position in its flow.
    pub number: u64,
    /// If a frame begins here.
    pub header: Option<Encoded>,
    pub data: Data,
    /// In its place, where the payload is in the sender's memory.
    pub lent: Option<Payload>,
    /// No data follows it.
    pub is_end: bool,
}

impl Segment {
    /// Bytes of the flow in it.
    pub fn len(&self) -> u64 {
        self.header.as_ref().map_or(0, |header| header.bytes().len() as u64) + self.data.len()
    }
}

impl Frame {
    /// A frame whose payload is `len` bytes.
    pub fn new(header: Encoded, load: Load, len: u64) -> Frame {
        Frame { header: Some(header), load, len, sent: 0 }
    }

    /// Up to `most` payload bytes of it leave the queue, with the header if that is still there.
    pub fn take(&mut self, number: u64, most: u64, memory: &mut Memory) -> Segment {
        let len = (self.len - self.sent).min(most);
        let data = match &self.load {
            Load::Late(source) => memory.gather(source, self.sent, len),
            Load::Copied(data) => data.slice(self.sent, len),
        };
        self.sent += len;
        Segment { number, header: self.header.take(), data, lent: None, is_end: false }
    }

    /// Bytes of the segment that is taken next, of up to `most` payload bytes.
    pub fn next_len(&self, most: u64) -> u64 {
        self.header_len() + (self.len - self.sent).min(most)
    }

    /// Bytes of its header, if that is still there.
    pub fn header_len(&self) -> u64 {
        self.header.as_ref().map_or(0, |header| header.bytes().len() as u64)
    }

    /// All of it leaves the queue as a header, with the place of the payload behind it; `None` where that is not in one.
    pub fn take_lent(&mut self, contents: Contents) -> Option<Segment> {
        let Load::Late(Source::User(payload)) = &self.load else { return None };
        self.sent = self.len;
        let (data, lent) = (Data::blank(contents, 0), Some(payload.clone()));
        Some(Segment { number: 0, header: self.header.take(), data, lent, is_end: false })
    }

    /// Address of its payload in user memory, of which no byte was sent.
    pub fn place(&self) -> Option<&Payload> {
        match &self.load {
            Load::Late(Source::User(payload)) if self.header.is_some() => Some(payload),
            _ => None,
        }
    }

    /// Its header, until that is sent.
    pub fn header(&self) -> Option<Header> {
        self.header.as_ref().and_then(Encoded::header)
    }

    /// Whether the socket has all of it.
    pub fn is_sent(&self) -> bool {
        self.header.is_none() && self.sent == self.len
    }

    /// `ended` will not be there any more: what the frame has to send of it is copied.
    pub fn detach(&mut self, ended: &Payload, memory: &mut Memory) {
        let Load::Late(source @ Source::User(payload)) = &self.load else { return };
        if overlap(payload, ended) {
            // The part already sent is not needed again; it is gathered with the rest only to keep offsets.
            self.load = Load::Copied(memory.gather(source, 0, self.len));
        }
    }
}

/// Whether two payloads are in one memory.
pub fn overlap(one: &Payload, other: &Payload) -> bool {
    let is_of_other = |extent: &Extent| other.extents().iter().any(|end| end.region == extent.region);
    one.extents().iter().any(is_of_other)
}
