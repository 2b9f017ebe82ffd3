//! The transmit queue of a stream: headers and small payloads are copied into a buffer, large payloads are sent from user memory.

mod checked;

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use fishplate_engine::wire::{Header, MAX_HEADER_LEN};
use fishplate_engine::{Extent, Payload, Source};
use fishplate_link_core::{BounceBuffers, UserMemory, overlaps};

use super::records::RecordWriter;
use crate::encryption::{MAX_CONTENT, Sealing};
use crate::sys::io::{Piece, send, send_own};

/// Payloads up to this length, in bytes, are copied behind their header: cheaper than a separate buffer of the system call.
const COPY_LIMIT: u64 = 2048;

#[derive(Clone, Copy, Debug)]
enum Segment {
    /// This number of bytes of `copied`.
    Copied(usize),
    /// A piece of user memory, of at least one byte.
    User(Extent),
}

/// The content of a queue when it was lent to a thread.
#[derive(Debug)]
struct LentBytes {
    len: u64,
    /// Parts in user memory.
    user: Vec<Extent>,
}

/// A queue in front of a socket. Bounded by the budget that the engine is given.
#[derive(Debug, Default)]
pub struct TransmitQueue {
    copied: Vec<u8>,
    /// Bytes of `copied` that have been sent.
    sent: usize,
    segments: VecDeque<Segment>,
    /// Bytes of all segments.
    len: u64,
    /// Bytes queued since the start.
    taken: u64,
    /// Its content when it was lent, while it is.
    lent: Option<LentBytes>,
    /// With encryption: records on their way to the socket.
    records: Option<Box<RecordWriter>>,
    /// Frames have checksums.
    is_checked: bool,
}

impl TransmitQueue {
    /// For a link; `sealing`: encrypted; `is_checked`: with checksums.
    pub fn new(sealing: Option<Sealing>, is_checked: bool) -> Self {
        let records = sealing.map(|sealing| Box::new(RecordWriter::new(sealing)));
        TransmitQueue { records, is_checked, ..TransmitQueue::default() }
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.lent.is_none()
            && self.segments.is_empty()
            && self.records.as_ref().is_none_or(|records| records.is_empty())
    }

    /// Bytes to send, including all that were lent.
    pub fn len(&self) -> u64 {
        self.len + self.lent.as_ref().map_or(0, |lent| lent.len)
    }

    /// Whether its content is lent to a thread; added frames then wait here.
    pub fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Lends its content to a thread that sends it.
    pub fn lend(&mut self) -> TransmitQueue {
        let of_user = |segment: &Segment| match segment {
            Segment::User(extent) => Some(*extent),
            Segment::Copied(_) => None,
        };
        let lent = LentBytes { len: self.len, user: self.segments.iter().filter_map(of_user).collect() };
        let (taken, is_checked) = (self.taken, self.is_checked);
        std::mem::replace(self, TransmitQueue { taken, lent: Some(lent), is_checked, ..TransmitQueue::default() })
    }

    /// Whether a thread may read of `ended`.
    pub fn lends(&self, ended: &Payload) -> bool {
        let lent = self.lent.iter().flat_map(|lent| &lent.user);
        lent.into_iter().any(|extent| overlaps(&Payload::One(*extent), ended))
    }

    /// Takes lent content back: the unsent part goes in front of frames that were added meanwhile.
    pub fn take_back(&mut self, lent: TransmitQueue) {
        let added = std::mem::replace(self, lent);
        self.taken = added.taken;
        self.len += added.len;
        self.copied.extend_from_slice(&added.copied[added.sent..]);
        for segment in added.segments {
            match segment {
                Segment::Copied(len) => self.add_copied(len),
                user => self.segments.push_back(user),
            }
        }
    }

    /// Bytes queued since the start.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Adds a frame. With `copy`, the payload is not needed after the call.
    pub fn push(&mut self, header: &Header, source: &Source, copy: bool, memory: &UserMemory, bounces: &BounceBuffers) {
        if self.is_checked {
            return self.push_checked(header, source, copy, memory, bounces);
        }
        let before = self.copied.len();
        let rest = match source {
            Source::User(payload) if !copy && payload.len() > COPY_LIMIT => {
                append_header(&mut self.copied, header);
                Some(payload)
            }
            _ => {
                append_header(&mut self.copied, header);
                append_payload(&mut self.copied, source, memory, bounces);
                None
            }
        };
        self.added_copied(before);
        rest.into_iter().for_each(|payload| self.add_user(payload));
    }

    /// Adds a frame that is a header alone.
    pub fn push_header(&mut self, header: &Header) {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        self.push_encoded(&bytes[..len]);
    }

    /// Adds a frame that is encoded already.
    pub fn push_encoded(&mut self, frame: &[u8]) {
        if self.is_checked {
            return self.push_encoded_checked(frame);
        }
        let before = self.copied.len();
        self.copied.extend_from_slice(frame);
        self.added_copied(before);
    }

    /// Copies queued bytes in the memory `ended`, which becomes invalid.
    pub fn detach(&mut self, ended: &Payload, memory: &UserMemory) {
        let touches = |extent: &Extent| overlaps(&Payload::One(*extent), ended);
        let is_concerned = |segment: &Segment| matches!(segment, Segment::User(extent) if touches(extent));
        if !self.segments.iter().any(is_concerned) {
            return;
        }
        let copied = std::mem::take(&mut self.copied);
        let mut at = std::mem::take(&mut self.sent);
        for segment in std::mem::take(&mut self.segments) {
            match segment {
                Segment::Copied(len) => {
                    self.copied.extend_from_slice(&copied[at..at + len]);
                    at += len;
                    self.add_copied(len);
                }
                Segment::User(extent) if touches(&extent) => {
                    memory.read(&Payload::One(extent), &mut self.copied);
                    self.add_copied(extent.len as usize);
                }
                user => self.segments.push_back(user),
            }
        }
    }

    /// Sends as much as the socket takes. True once everything is sent; false when the socket is full.
    pub fn flush(&mut self, socket: BorrowedFd<'_>, memory: &UserMemory) -> io::Result<bool> {
        if self.records.is_some() {
            return self.flush_encrypted(socket, memory);
        }
        while !self.segments.is_empty() {
            match self.send_some(socket, memory) {
                Ok(sent) => self.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn flush_encrypted(&mut self, socket: BorrowedFd<'_>, memory: &UserMemory) -> io::Result<bool> {
        let Some(mut records) = self.records.take() else { return Ok(true) };
        let flushed = loop {
            match records.flush(socket) {
                Ok(()) if self.segments.is_empty() => break Ok(true),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(false),
                Err(error) => break Err(error),
            }
            while !self.segments.is_empty() && records.has_room() {
                records.seal(|content| self.take(MAX_CONTENT, memory, content));
            }
        };
        self.records = Some(records);
        flushed
    }

    /// Moves up to `most` bytes from the front of the queue to the end of `out`.
    fn take(&mut self, most: usize, memory: &UserMemory, out: &mut Vec<u8>) {
        let mut room = most;
        while let Some(segment) = self.segments.front().filter(|_| room > 0) {
            let taken = match segment {
                Segment::Copied(len) => {
                    let taken = room.min(*len);
                    out.extend_from_slice(&self.copied[self.sent..self.sent + taken]);
                    taken
                }
                Segment::User(extent) => {
                    let part = extent.slice(0, room as u64);
                    memory.read(&Payload::One(part), out);
                    part.len as usize
                }
            };
            room -= taken;
            self.advance(taken);
        }
    }

    fn send_some(&self, socket: BorrowedFd<'_>, memory: &UserMemory) -> io::Result<usize> {
        if let (1, Some(Segment::Copied(len))) = (self.segments.len(), self.segments.front()) {
            return send_own(socket, &self.copied[self.sent..self.sent + len]);
        }
        let mut at = self.sent;
        let pieces = self.segments.iter().map(|segment| match segment {
            Segment::Copied(len) => {
                at += len;
                Piece::Own(&self.copied[at - len..at])
            }
            Segment::User(extent) => Piece::User(*extent),
        });
        send(socket, memory, pieces)
    }

    /// The copied bytes behind the first `before` were added to the queue.
    fn added_copied(&mut self, before: usize) {
        let added = self.copied.len() - before;
        self.add_copied(added);
        self.len += added as u64;
        self.taken += added as u64;
    }

    /// Adds a payload that is sent from user memory.
    fn add_user(&mut self, payload: &Payload) {
        let user = payload.extents().iter().filter(|extent| extent.len > 0);
        self.segments.extend(user.map(|extent| Segment::User(*extent)));
        self.len += payload.len();
        self.taken += payload.len();
    }

    fn add_copied(&mut self, len: usize) {
        match self.segments.back_mut() {
            Some(Segment::Copied(last)) => *last += len,
            _ => self.segments.push_back(Segment::Copied(len)),
        }
    }

    fn advance(&mut self, mut bytes: usize) {
        self.len -= bytes as u64;
        while bytes > 0 {
            let Some(segment) = self.segments.front_mut() else { break };
            let (taken, done) = match segment {
                Segment::Copied(len) => {
                    let taken = bytes.min(*len);
                    *len -= taken;
                    self.sent += taken;
                    (taken, *len == 0)
                }
                Segment::User(extent) => {
                    let taken = bytes.min(extent.len as usize);
                    *extent = extent.slice(taken as u64, extent.len);
                    (taken, extent.len == 0)
                }
            };
            bytes -= taken;
            if done {
                self.segments.pop_front();
            }
        }
        if self.segments.is_empty() {
            self.copied.clear();
            self.sent = 0;
        }
    }
}

/// Writes a payload to the end of `out`.
pub(in crate::link) fn append_payload(
    out: &mut Vec<u8>,
    source: &Source,
    memory: &UserMemory,
    bounces: &BounceBuffers,
) {
    match source {
        Source::Bounce { id, offset, len } => {
            let (from, to) = (*offset as usize, (*offset + *len) as usize);
            out.extend_from_slice(&bounces.get(*id)[from..to]);
        }
        // `Sent` was recovered before, so that only its length counts.
        Source::Sent { len } | Source::Padding { len } => out.resize(out.len() + *len as usize, 0),
        Source::User(payload) => memory.read(payload, out),
    }
}

fn append_header(out: &mut Vec<u8>, header: &Header) {
    let mut bytes = [0; MAX_HEADER_LEN];
    let len = header.encode(&mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use fishplate_engine::wire::Body;
    use fishplate_link_core::payload_of;

    use super::*;

    #[test]
    fn frames_added_while_a_thread_sends_follow_it() {
        let memory = UserMemory::of_test();
        let users = [vec![1u8; 5000], vec![2u8; 4000]];
        let mut queue = TransmitQueue::default();
        let header = Header::without_acknowledgement(Body::Ack);
        let push = |queue: &mut TransmitQueue, bytes: &[u8]| {
            queue.push(&header, &Source::User(payload_of(bytes)), false, &memory, &BounceBuffers::default());
        };
        push(&mut queue, &users[0]);
        let (len, mut lent) = (queue.len(), queue.lend());
        push(&mut queue, &users[1]);
        assert!(queue.is_lent() && !queue.is_empty());
        assert_eq!((queue.len(), queue.taken(), lent.len()), (len + lent.len() - 1000, 2 * len - 1000, len));
        let (here, mut there) = UnixStream::pair().unwrap();
        lent.advance(100);
        queue.take_back(lent);
        assert!(!queue.is_lent());
        let left = queue.len();
        assert!(queue.flush(here.as_fd(), &memory).unwrap() && queue.is_empty());
        let mut sent = vec![0; left as usize];
        there.read_exact(&mut sent).unwrap();
        let parts = sent.chunk_by(|a, b| a == b).filter(|part| part.len() > 100).map(|part| (part[0], part.len()));
        assert_eq!(parts.collect::<Vec<_>>(), [(1, 5000 - 100 + (len as usize - 5000)), (2, 4000)]);
    }

    #[test]
    fn queued_bytes_of_memory_that_ends_are_sent_unchanged() {
        let memory = UserMemory::of_test();
        let (mut ending, staying) = (vec![1u8; 5000], vec![2u8; 4000]);
        let mut queue = TransmitQueue::default();
        let header = Header::without_acknowledgement(Body::Ack);
        for bytes in [&ending, &staying, &ending] {
            let source = Source::User(payload_of(bytes));
            queue.push(&header, &source, false, &memory, &BounceBuffers::default());
        }
        let len = queue.len();
        queue.detach(&payload_of(&ending), &memory);
        let users = queue.segments.iter().filter(|segment| matches!(segment, Segment::User(_))).count();
        assert_eq!((queue.len(), users), (len, 1));
        ending.fill(9);
        let (here, mut there) = UnixStream::pair().unwrap();
        assert!(queue.flush(here.as_fd(), &memory).unwrap());
        let mut sent = vec![0; len as usize];
        there.read_exact(&mut sent).unwrap();
        let parts = sent.chunk_by(|a, b| a == b).filter(|part| part.len() > 100).map(|part| (part[0], part.len()));
        assert_eq!(parts.collect::<Vec<_>>(), [(1, 5000), (2, 4000), (1, 5000)]);
    }
}
