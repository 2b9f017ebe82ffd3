//! The receive state of a stream: a header, or a payload. Large payloads are read straight to their destination.

mod checked;

use std::io;
use std::os::fd::BorrowedFd;

use fishplate_engine::wire::{Header, Malformed, decode};
use fishplate_engine::{Extent, Payload, Placement};
use fishplate_link_core::{BounceBuffers, Destination, UserMemory};

use checked::ReceiveChecks;

use super::records::{MAX_AT_ONCE, RecordReader};
use super::{Filled, filled};
use crate::encryption::Opening;
use crate::handshake::MAX_ANSWER_LEN;
use crate::sys::io::{receive, receive_own};

/// Bytes read ahead when headers and small messages are expected, at most,
const BUFFER_LEN: usize = 64 << 10;
/// and at first: most of the connections of a rank with many peers carry single short messages.
const FIRST_BUFFER_LEN: usize = 8 << 10;
/// Bytes that were read behind a handshake fit.
const _: () = assert!(FIRST_BUFFER_LEN >= MAX_ANSWER_LEN);
/// A payload with at least this number of bytes missing is read straight to its place.
const MIN_DIRECT: u64 = 4096;
/// Bytes read ahead behind a payload that goes straight to its place: enough for the next header, but little of the next payload,
/// which would have to be copied.
const AHEAD_OF_DIRECT: usize = 128;
/// After a payload of at least this length, in bytes, the next is likely to be as long: only its header is read ahead. For shorter
/// ones a copy is cheaper than a second system call.
const MIN_BULK: u64 = 32 << 10;
/// A thread that reads a payload gives it back after this number of bytes: its endpoint may have to wait for it.
const MAX_LENT: u64 = 1 << 20;
/// Length of an extent list on the stack when a payload goes into several pieces.
const MAX_EXTENTS: usize = 16;

/// Message for a frame with a wrong checksum.
pub const CHANGED: &str = "a frame was changed on its way: its checksum is wrong";

/// The next complete part of a frame.
#[derive(Debug)]
pub enum Arrived {
    /// A header. If it has a payload, call [`ReceiveState::expect_payload`] with its place.
    Header(Header),
    /// The payload of the last header is complete: its length.
    Payload(u64),
}

/// Why received bytes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The peer violates the protocol.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A checksum is wrong.
    #[error("{}", CHANGED)]
    Changed,
}

/// State of the receiving side of a link.
#[derive(Default)]
pub struct ReceiveState {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    destination: Destination,
    done: u64,
    len: u64,
    /// The last payload was a long one.
    bulk: bool,
    /// It is lent to a thread.
    is_lent: bool,
    /// With encryption: the reader of the encrypted bytes behind `end` in the buffer.
    records: Option<Box<RecordReader>>,
    /// Frames have checksums.
    checks: Option<ReceiveChecks>,
}

impl ReceiveState {
    /// For a link; `opening`: encrypted; `is_checked`: with checksums.
    pub fn new(opening: Option<Opening>, is_checked: bool) -> Self {
        let buffer_len = if opening.is_some() { MAX_AT_ONCE } else { FIRST_BUFFER_LEN };
        let records = opening.map(|opening| Box::new(RecordReader::new(opening)));
        let checks = is_checked.then(ReceiveChecks::default);
        ReceiveState { records, checks, ..ReceiveState::with_buffer(buffer_len) }
    }

    /// For a link's datagrams of up to `most` bytes.
    pub fn of_datagrams(most: usize) -> Self {
        ReceiveState::with_buffer(most)
    }

    fn with_buffer(len: usize) -> Self {
        ReceiveState { buffer: vec![0; len].into_boxed_slice(), ..ReceiveState::default() }
    }
}

impl ReceiveState {
    /// Whether it is lent to a thread.
    pub fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Lends it to a thread that reads the payload; `None` unless that goes to user memory.
    pub fn lend(&mut self) -> Option<ReceiveState> {
        let goes_to_user = matches!(self.destination, Destination::User(_));
        (goes_to_user && (self.records.is_some() || self.may_read_direct())).then(|| {
            let rest = ReceiveState { is_lent: true, len: self.len, done: self.done, ..ReceiveState::with_buffer(0) };
            std::mem::replace(self, rest)
        })
    }

    /// Reads the payload into user memory, until it is complete or the socket is empty. [`io::ErrorKind::WouldBlock`]: there was
    /// nothing to read.
    pub fn fill_payload(&mut self, socket: BorrowedFd<'_>, memory: &UserMemory) -> io::Result<Filled> {
        // The destination is user memory: no buffer is used.
        let mut bounces = BounceBuffers::default();
        let before = self.done;
        loop {
            match self.fill(socket, memory, &mut bounces) {
                Ok(filled) => {
                    // Buffered bytes with a checksum are placed once that was verified.
                    if self.checks.is_none() {
                        self.consume(memory, &mut bounces);
                    }
                    let is_over = self.missing() == 0 || self.start < self.end || self.done - before >= MAX_LENT;
                    if filled != Filled::More || is_over {
                        return Ok(filled);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.done > before => {
                    return Ok(Filled::Drained);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl ReceiveState {
    /// Reads a datagram in the place of the one before. Returns its first `N` bytes; `None`: it is shorter.
    pub fn fill_whole<const N: usize>(&mut self, socket: BorrowedFd<'_>) -> io::Result<Option<[u8; N]>> {
        let got = receive_own(socket, &mut self.buffer)?;
        (self.start, self.end) = (N.min(got), got);
        self.len = 0;
        Ok(self.buffer[..got].first_chunk().copied())
    }

    /// Bytes of the present payload that are in place, and bytes read ahead.
    pub fn held(&self) -> u64 {
        self.done + (self.end - self.start) as u64
    }

    /// Bytes of the present payload that are still to come.
    pub fn missing(&self) -> u64 {
        self.len - self.done
    }

    /// Bytes read ahead.
    pub fn unread(&self) -> usize {
        self.end - self.start
    }

    /// The bytes read ahead.
    pub fn unread_bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Puts a datagram that was read before in the place of the last.
    pub fn replace(&mut self, bytes: &[u8]) {
        self.buffer[..bytes.len()].copy_from_slice(bytes);
        (self.start, self.end, self.len) = (0, bytes.len(), 0);
    }
}

impl ReceiveState {
    /// Starts with bytes that were read before the link existed; far fewer than the buffer holds.
    pub fn feed(&mut self, early: &[u8]) -> io::Result<()> {
        if let Some(records) = &mut self.records {
            let mut plain = self.start..self.end;
            let fed = records.feed(early, &mut self.buffer, &mut plain);
            (self.start, self.end) = (plain.start, plain.end);
            return fed;
        }
        self.buffer[..early.len()].copy_from_slice(early);
        self.end = early.len();
        Ok(())
    }

    /// Reads from the socket. [`io::ErrorKind::WouldBlock`]: there is nothing.
    pub fn fill(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> io::Result<Filled> {
        if let Some(records) = &mut self.records {
            let mut plain = self.start..self.end;
            let filled = records.fill(socket, &mut self.buffer, &mut plain);
            (self.start, self.end) = (plain.start, plain.end);
            return filled;
        }
        let missing = self.len - self.done;
        if self.start == self.end && missing >= MIN_DIRECT && self.may_read_direct() {
            return self.fill_direct(socket, memory, bounces);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // The missing bytes of a payload may not be read straight to its place.
        let ahead = AHEAD_OF_DIRECT + missing.min(self.buffer.len() as u64) as usize;
        let until = if self.bulk && self.end < ahead { ahead.min(self.buffer.len()) } else { self.buffer.len() };
        let room = until - self.end;
        let got = receive_own(socket, &mut self.buffer[self.end..until])?;
        self.end += got;
        if self.end == self.buffer.len() && self.end < BUFFER_LEN {
            self.lengthen();
        }
        Ok(filled(got, room))
    }

    /// Replaces the first buffer by a longer one, as more comes at once than it holds.
    #[cold]
    fn lengthen(&mut self) {
        let mut longer = vec![0; BUFFER_LEN].into_boxed_slice();
        longer[..self.end].copy_from_slice(&self.buffer[..self.end]);
        self.buffer = longer;
    }

    /// The next complete header or payload.
    pub fn next(&mut self, memory: &UserMemory, bounces: &mut BounceBuffers) -> Result<Option<Arrived>, Unreadable> {
        if self.checks.is_some() {
            return self.next_checked(memory, bounces);
        }
        if self.len > 0 {
            self.consume(memory, bounces);
            if self.done < self.len {
                return Ok(None);
            }
            let len = std::mem::take(&mut self.len);
            self.done = 0;
            return Ok(Some(Arrived::Payload(len)));
        }
        let Some((header, len)) = decode(&self.buffer[self.start..self.end])? else { return Ok(None) };
        self.start += len;
        Ok(Some(Arrived::Header(header)))
    }

    /// The payload of the last header, of `len` bytes, goes to `placement`.
    pub fn expect_payload(&mut self, placement: Placement, len: u64, bounces: &mut BounceBuffers) {
        self.len = len;
        self.done = 0;
        self.bulk = len >= MIN_BULK;
        self.destination = Destination::open(placement, bounces);
    }

    /// The payload of the last header, of `len` bytes, if it is in the buffer whole and unchanged.
    #[inline]
    pub fn whole_payload(&self, len: u64) -> Option<&[u8]> {
        match &self.checks {
            None => self.unread_bytes().get(..len as usize),
            Some(checks) => checks.whole_payload(self.unread_bytes(), len as usize),
        }
    }

    /// The payload from [`ReceiveState::whole_payload`] was handled.
    #[inline]
    pub fn skip_payload(&mut self, len: u64) {
        self.start += len as usize + self.checks.as_ref().map_or(0, |_| ReceiveChecks::behind_payload(len));
        self.bulk = len >= MIN_BULK;
    }

    /// Drops the rest of the present payload.
    pub fn discard(&mut self) {
        self.destination = Destination::Discard;
    }

    /// Whether a payload, or a header, has come in part.
    pub fn is_within_frame(&self) -> bool {
        self.len > 0 || self.start < self.end || self.unfinished_record() > 0
    }

    /// Received bytes of an incomplete encrypted record.
    pub fn unfinished_record(&self) -> usize {
        self.records.as_ref().map_or(0, |records| records.unfinished())
    }

    /// Moves payload from the buffer to its place.
    fn consume(&mut self, memory: &UserMemory, bounces: &mut BounceBuffers) {
        let there = (self.end - self.start).min((self.len - self.done) as usize);
        self.destination.put(self.done, &self.buffer[self.start..self.start + there], memory, bounces);
        self.start += there;
        self.done += there as u64;
    }

    fn fill_direct(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &UserMemory,
        bounces: &mut BounceBuffers,
    ) -> io::Result<Filled> {
        let missing = self.len - self.done;
        let (wanted, got) = match &self.destination {
            Destination::User(place) => {
                let (extents, count, room) = remaining(place, self.done, missing);
                if room == missing {
                    let ahead = &mut self.buffer[..AHEAD_OF_DIRECT];
                    let got = receive(socket, memory, &extents[..count], ahead)?;
                    (missing as usize + AHEAD_OF_DIRECT, got)
                } else if room == 0 {
                    // The rest exceeds the destination: it is read and dropped.
                    let wanted = self.buffer.len().min(missing as usize);
                    (wanted, receive_own(socket, &mut self.buffer[..wanted])?)
                } else {
                    (room as usize, receive(socket, memory, &extents[..count], &mut [])?)
                }
            }
            Destination::Bounce(id) => {
                let Some(buffer) = bounces.get_mut(*id) else { return Err(io::ErrorKind::NotFound.into()) };
                let have = buffer.len();
                buffer.resize(have + missing as usize, 0);
                let got = receive_own(socket, &mut buffer[have..]);
                buffer.truncate(have + *got.as_ref().unwrap_or(&0));
                (missing as usize, got?)
            }
            Destination::Discard => {
                let wanted = self.buffer.len().min(missing as usize);
                (wanted, receive_own(socket, &mut self.buffer[..wanted])?)
            }
        };
        let placed = (got as u64).min(missing);
        self.check_direct(placed, memory, bounces);
        self.done += placed;
        (self.start, self.end) = (0, got - placed as usize);
        Ok(filled(got, wanted))
    }
}

/// The pieces of `place` that bytes `[done, done + missing)` of a message go to, how many they are, and their length.
fn remaining(place: &Payload, done: u64, missing: u64) -> ([Extent; MAX_EXTENTS], usize, u64) {
    let nothing = Extent { region: fishplate_engine::Region(0), offset: 0, len: 0 };
    let mut extents = [nothing; MAX_EXTENTS];
    let (mut count, mut skip, mut room) = (0, done, 0);
    for extent in place.extents() {
        let part = extent.slice(skip, missing - room);
        skip -= skip.min(extent.len);
        if part.len > 0 && count < MAX_EXTENTS {
            extents[count] = part;
            count += 1;
            room += part.len;
        }
    }
    (extents, count, room)
}
