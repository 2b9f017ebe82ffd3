//! The receiving half of a link: frames in order, whose payloads are in records or are read from the peer's memory.

use std::collections::VecDeque;

use fishplate_engine::wire::{Header, MAX_HEADER_LEN, Malformed, decode};
use fishplate_engine::{BounceId, Extent, Payload, Placement};
use fishplate_link_core::{BounceBuffers, Destination, UserMemory};

use crate::record::{Kind, RemotePiece};
use crate::sys::{PeerAddress, Posted, Provider, Remote};
use crate::transport::Transport;

/// Longest payload that comes in several records, in bytes: messages and pieces that are not lent are shorter.
const MAX_SPLIT_PAYLOAD: u32 = 2 << 20;
/// Frames with payloads that are not in place, at most: far more than are under way behind a long read, and fewer than the tags of
/// reads can tell apart.
const MAX_PENDING: usize = 4096;
/// Bytes of one read, at most.
const MAX_READ: u64 = 1 << 30;

/// A violation of the protocol by the peer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// A record out of order.
    #[error("records are out of order")]
    Order,
    /// An unknown kind of record, or one that must not come here.
    #[error("a record where none may be")]
    Kind,
    /// A length that does not fit the frame.
    #[error("a record of {0} bytes, which does not have the length of its frame")]
    Length(usize),
    /// A malformed header.
    #[error(transparent)]
    Header(Malformed),
}

/// A frame whose payload has come, or can be read.
pub struct Frame {
    pub header: Header,
    payload: FramePayload,
}

enum FramePayload {
    /// At the end of its record.
    InRecord,
    /// Collected from several records.
    Parts(Vec<u8>),
    Remote(Vec<RemotePiece>),
}

impl Frame {
    /// Whether its payload, if it has one, is in its record.
    pub fn is_in_record(&self) -> bool {
        matches!(self.payload, FramePayload::InRecord)
    }
}

/// State of the receiving half.
#[derive(Default)]
pub struct Receiver {
    /// A frame whose payload has come in part.
    parts: Option<(Header, Vec<u8>)>,
    /// Frames with payloads that the engine knows of, in order.
    pending: VecDeque<Pending>,
    /// Number of the first frame of `pending`.
    first: u32,
    /// Reads that could not be begun yet, in order.
    unread: VecDeque<Read>,
    /// Number of loans read so far, modulo 2^32.
    pub fetched: u32,
}

/// A frame whose payload is being placed.
struct Pending {
    len: u64,
    is_loan: bool,
    /// Number of reads that have not completed.
    reads: usize,
    /// Bounce buffer of the payload, and the parts read for it, in order.
    bounce: Option<(BounceId, Vec<Vec<u8>>)>,
}

struct Read {
    /// Number of the frame.
    number: u32,
    /// Number of the part, for a bounce buffer.
    piece: usize,
    to: To,
    from: Remote,
}

enum To {
    User(Extent),
    Copy(usize),
}

/// The tag of a read: link, frame and part.
fn read_tag(link: u32, number: u32, piece: usize) -> u64 {
    u64::from(link) << 32 | u64::from(number as u16) << 16 | piece as u64 & 0xffff
}

impl Receiver {
    /// Handles a record of `kind` with `bytes` behind the preamble. Returns a frame, if one is complete now.
    pub fn take(&mut self, kind: Kind, bytes: &[u8]) -> Result<Option<Frame>, BadRecord> {
        if kind == Kind::Rest {
            let (header, mut payload) = self.parts.take().ok_or(BadRecord::Kind)?;
            let len = header.body.payload_len() as usize;
            if bytes.is_empty() || bytes.len() > len - payload.len() {
                return Err(BadRecord::Length(bytes.len()));
            }
            payload.extend_from_slice(bytes);
            if payload.len() == len {
                return Ok(Some(Frame { header, payload: FramePayload::Parts(payload) }));
            }
            self.parts = Some((header, payload));
            return Ok(None);
        }
        if self.parts.is_some() {
            return Err(BadRecord::Kind);
        }
        let decoded = decode(&bytes[..bytes.len().min(MAX_HEADER_LEN)]).map_err(BadRecord::Header)?;
        let (header, header_len) = decoded.ok_or(BadRecord::Length(bytes.len()))?;
        let (rest, len) = (&bytes[header_len..], header.body.payload_len());
        if kind == Kind::Lent {
            let pieces = RemotePiece::decode_all(rest, u64::from(len)).filter(|pieces| !pieces.is_empty());
            let pieces = pieces.ok_or(BadRecord::Length(bytes.len()))?;
            return Ok(Some(Frame { header, payload: FramePayload::Remote(pieces) }));
        }
        let is_part = rest.len() < len as usize;
        if rest.len() > len as usize || is_part && (rest.is_empty() || len > MAX_SPLIT_PAYLOAD) {
            return Err(BadRecord::Length(bytes.len()));
        }
        if is_part {
            self.parts = Some((header, rest.to_vec()));
            return Ok(None);
        }
        Ok(Some(Frame { header, payload: FramePayload::InRecord }))
    }

    /// The payload of a frame, which is not empty, goes to `placement`. `record`: the record that it has come in.
    pub fn place(
        &mut self,
        frame: Frame,
        record: &[u8],
        placement: Placement,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) {
        let len = u64::from(frame.header.body.payload_len());
        let mut pending = Pending { len, is_loan: false, reads: 0, bounce: None };
        let number = self.first.wrapping_add(self.pending.len() as u32);
        match &frame.payload {
            FramePayload::InRecord => {
                let payload = &record[record.len() - len as usize..];
                Destination::open(placement, bounces).put(0, payload, memory, bounces);
            }
            FramePayload::Parts(bytes) => Destination::open(placement, bounces).put(0, bytes, memory, bounces),
            FramePayload::Remote(pieces) => {
                pending.is_loan = true;
                self.plan(&mut pending, number, pieces, placement, bounces);
            }
        }
        self.pending.push_back(pending);
    }

    /// Plans the reads that fetch a payload.
    fn plan(
        &mut self,
        pending: &mut Pending,
        number: u32,
        pieces: &[RemotePiece],
        placement: Placement,
        bounces: &mut BounceBuffers,
    ) {
        let mut at = 0;
        for RemotePiece { address, key, len } in pieces.iter().copied() {
            let mut done = 0;
            while done < len {
                let part = (len - done).min(MAX_READ);
                let from = Remote { address: address.wrapping_add(done), key };
                match &placement {
                    Placement::User(place) => {
                        let mut skip = 0;
                        for extent in place.slice(at + done, part).extents().iter().filter(|extent| extent.len > 0) {
                            let from = Remote { address: from.address.wrapping_add(skip), ..from };
                            self.unread.push_back(Read { number, piece: 0, to: To::User(*extent), from });
                            (skip, pending.reads) = (skip + extent.len, pending.reads + 1);
                        }
                    }
                    Placement::Bounce(id) => {
                        let (_, copies) = pending.bounce.get_or_insert_with(|| {
                            bounces.open(*id);
                            (*id, Vec::new())
                        });
                        self.unread.push_back(Read { number, piece: copies.len(), to: To::Copy(part as usize), from });
                        copies.push(Vec::new());
                        pending.reads += 1;
                    }
                    Placement::Discard => {}
                }
                done += part;
            }
            at += len;
        }
    }

    /// Begins planned reads.
    pub fn read<P: Provider>(
        &mut self,
        link: u32,
        peer: PeerAddress,
        transport: &mut Transport<P>,
        memory: &UserMemory,
    ) {
        while let Some(read) = self.unread.pop_front() {
            let tag = read_tag(link, read.number, read.piece);
            let posted = match read.to {
                To::User(extent) => transport.port.read((memory, &Payload::One(extent)), read.from, peer, tag),
                To::Copy(len) => transport.port.read_own(vec![0; len], read.from, peer, tag),
            };
            if matches!(posted, Posted::Again(())) {
                self.unread.push_front(read);
                return;
            }
        }
    }

    /// A read has completed.
    pub fn has_read(&mut self, tag: u64, own: Option<Vec<u8>>) {
        let (number, piece) = ((tag >> 16) as u16, (tag & 0xffff) as usize);
        let at = number.wrapping_sub(self.first as u16);
        let Some(pending) = self.pending.get_mut(usize::from(at)) else { return };
        debug_assert!(pending.reads > 0, "a read of a payload ends once");
        pending.reads = pending.reads.saturating_sub(1);
        if let (Some(own), Some((_, copies))) = (own, &mut pending.bounce)
            && let Some(copy) = copies.get_mut(piece)
        {
            *copy = own;
        }
    }

    /// Length of the payload that is in place, if that is the oldest one.
    pub fn placed(&mut self, bounces: &mut BounceBuffers) -> Option<u64> {
        let pending = self.pending.front()?;
        if pending.reads > 0 {
            return None;
        }
        let mut pending = self.pending.pop_front()?;
        self.first = self.first.wrapping_add(1);
        pending.settle(bounces);
        self.fetched = self.fetched.wrapping_add(u32::from(pending.is_loan));
        Some(pending.len)
    }

    /// Writes completed parts to bounce buffers; nothing is written to these later.
    pub fn settle(&mut self, bounces: &mut BounceBuffers) {
        self.pending.iter_mut().for_each(|pending| pending.settle(bounces));
    }

    /// Whether another frame can be handled. If not, the peer runs out of credits until payloads are in place.
    pub fn has_room(&self) -> bool {
        self.pending.len() < MAX_PENDING
    }

    /// Whether frames have come whose payload is not reported as in place.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether reads that could write memory are under way.
    pub fn is_reading(&self) -> bool {
        let unbegun = self.unread.len();
        self.pending.iter().map(|pending| pending.reads).sum::<usize>() > unbegun
    }

    /// Whether reads have not begun.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Drops reads that have not begun.
    pub fn stop(&mut self) {
        for read in self.unread.drain(..) {
            let at = (read.number as u16).wrapping_sub(self.first as u16);
            if let Some(pending) = self.pending.get_mut(usize::from(at)) {
                pending.reads -= 1;
            }
        }
    }
}

impl Pending {
    /// Writes the parts to the bounce buffer.
    fn settle(&mut self, bounces: &mut BounceBuffers) {
        let Some((id, mut copies)) = self.bounce.take() else { return };
        if let Some(buffer) = bounces.get_mut(id) {
            match &mut copies[..] {
                [one] => *buffer = std::mem::take(one),
                copies => copies.iter().for_each(|copy| buffer.extend_from_slice(copy)),
            }
        }
    }
}
