//! Encrypted records between the queues of a link and its socket. Payloads are copied once on each side: into the record, and
//! out of it.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::{Filled, filled};
use crate::encryption::{MAX_RECORD, Opening, Sealing};
use crate::sys::io::{receive_own, send_own};

/// Bytes of records that are sent, or received, at a time, at most: an efficient system call, and still in the processor's cache.
pub const MAX_AT_ONCE: usize = 8 * MAX_RECORD;

/// Records on their way to the socket.
#[derive(Debug)]
pub struct RecordWriter {
    sealing: Sealing,
    records: Vec<u8>,
    /// Bytes of `records` that have been sent.
    sent: usize,
}

impl RecordWriter {
    pub fn new(sealing: Sealing) -> Self {
        RecordWriter { sealing, records: Vec::new(), sent: 0 }
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.sent == self.records.len()
    }

    /// Whether one more record may be added before they are sent.
    pub fn has_room(&self) -> bool {
        self.records.len() + MAX_RECORD <= MAX_AT_ONCE
    }

    /// Adds a record. `fill` appends its content.
    pub fn seal(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        self.sealing.seal(&mut self.records, fill);
    }

    /// Sends what the socket takes; [`io::ErrorKind::WouldBlock`]: it takes no more.
    pub fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while !self.is_empty() {
            match send_own(socket, &self.records[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.records.clear();
        self.sent = 0;
        Ok(())
    }
}

/// Received encrypted bytes, in a buffer behind the decrypted bytes `plain`.
#[derive(Debug)]
pub struct RecordReader {
    opening: Opening,
    records: Range<usize>,
}

impl RecordReader {
    pub fn new(opening: Opening) -> Self {
        RecordReader { opening, records: 0..0 }
    }

    /// Received bytes of an incomplete record.
    pub fn unfinished(&self) -> usize {
        self.records.len()
    }

    /// Reads from the socket, and opens complete records.
    pub fn fill(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8], plain: &mut Range<usize>) -> io::Result<Filled> {
        self.make_room(buffer, plain);
        let room = &mut buffer[self.records.end..];
        let wanted = room.len();
        let got = receive_own(socket, room)?;
        self.records.end += got;
        self.open(buffer, plain)?;
        Ok(filled(got, wanted))
    }

    /// Takes bytes that were read before the link existed; far fewer than the buffer holds.
    pub fn feed(&mut self, bytes: &[u8], buffer: &mut [u8], plain: &mut Range<usize>) -> io::Result<()> {
        self.make_room(buffer, plain);
        buffer[self.records.end..][..bytes.len()].copy_from_slice(bytes);
        self.records.end += bytes.len();
        self.open(buffer, plain)
    }

    /// Frees at least half of the buffer: only a part of a header and a part of a record remain, at most.
    fn make_room(&mut self, buffer: &mut [u8], plain: &mut Range<usize>) {
        if plain.start == plain.end && self.records.is_empty() {
            (*plain, self.records) = (0..0, 0..0);
        } else if self.records.end > buffer.len() / 2 {
            buffer.copy_within(plain.clone(), 0);
            *plain = 0..plain.len();
            buffer.copy_within(self.records.clone(), plain.end);
            self.records = plain.end..plain.end + self.records.len();
        }
    }

    fn open(&mut self, buffer: &mut [u8], plain: &mut Range<usize>) -> io::Result<()> {
        let bytes = &mut buffer[..self.records.end];
        while let Some(opened) = self.opening.open(&mut bytes[plain.end..], self.records.start - plain.end)? {
            self.records.start += opened.record_len;
            plain.end += opened.content_len;
        }
        Ok(())
    }
}
