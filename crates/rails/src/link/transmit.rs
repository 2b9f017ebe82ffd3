//! What a link has still to send: headers and small payloads, copied one behind the other, and large payloads that
//! are sent from where they are.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use fishplate_engine::wire::{Header, MAX_HEADER_LEN};
use fishplate_engine::{Extent, Payload, Source};

use crate::bounce::Bounces;
use crate::sys::io::{Piece, send, send_own};
use crate::sys::memory::UserMemory;

/// Payloads up to this many bytes are copied behind their header: cheaper than a piece of their own in the system call.
const COPY_LIMIT: u64 = 2048;

#[derive(Clone, Copy, Debug)]
enum Segment {
    /// So many of the copied bytes.
    Copied(usize),
    /// A piece of user memory, of at least one byte.
    User(Extent),
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
}

impl TransmitQueue {
    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes to send.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Adds a frame. With `copy`, the payload is not needed after the call.
    pub fn push(&mut self, header: &Header, source: &Source, copy: bool, memory: &UserMemory, bounces: &Bounces) {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        self.len += len as u64 + source.len();
        let before = self.copied.len();
        self.copied.extend_from_slice(&bytes[..len]);
        let mut rest: Option<&Payload> = None;
        match source {
            Source::Bounce { id, offset, len } => {
                let (from, to) = (*offset as usize, (*offset + *len) as usize);
                self.copied.extend_from_slice(&bounces.get(*id)[from..to]);
            }
            Source::User(payload) if copy || payload.len() <= COPY_LIMIT => memory.read(payload, &mut self.copied),
            Source::User(payload) => rest = Some(payload),
        }
        self.add_copied(self.copied.len() - before);
        let user = rest.into_iter().flat_map(|payload| payload.extents()).filter(|extent| extent.len > 0);
        self.segments.extend(user.map(|extent| Segment::User(*extent)));
    }

    /// Sends what the socket takes. True once everything is sent; false when the socket takes no more.
    pub fn flush(&mut self, socket: BorrowedFd<'_>, memory: &UserMemory) -> io::Result<bool> {
        while !self.is_empty() {
            match self.send_some(socket, memory) {
                Ok(sent) => self.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
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
