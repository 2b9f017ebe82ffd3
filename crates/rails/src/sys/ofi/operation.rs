//! An operation under way, and how it ends.

use std::ffi::c_void;

use super::Error;
use super::address::PeerAddress;
use super::buffer::Buffer;
use super::registration::Registration;

/// An operation under way. Providers use the first bytes while it is.
#[repr(C)]
pub(super) struct Operation {
    pub providers: [*mut c_void; 8],
    /// Where it is in the list of operations.
    pub at: usize,
    /// The connection that it is of, if it is of one.
    pub connection: Option<PeerAddress>,
    /// `None`: its connection is closed. A completion may come nevertheless, so this stays.
    pub what: Option<What>,
}

// SAFETY: goes where its port goes.
unsafe impl Send for Operation {}

pub(super) enum What {
    Receive(Buffer),
    Send { buffer: Buffer, tag: u64 },
    Read { tag: u64, _registration: Option<Registration>, own: Option<Vec<u8>> },
}

/// How many operations are under way, each of which ends with a completion: no more than those have room for. Half of the
/// room is for messages that come, half for what this side begins, so that neither keeps the other from going on.
pub(super) struct UnderWay {
    /// Of each kind.
    pub most: usize,
    receives: usize,
    others: usize,
}

impl UnderWay {
    /// Completions have this much room.
    pub fn of_queue(room: usize) -> UnderWay {
        UnderWay { most: room / 2, receives: 0, others: 0 }
    }

    /// Counts an operation, if there is room for it.
    pub fn begins(&mut self, what: &What) -> bool {
        let most = self.most;
        let count = self.of(what);
        let has_room = *count < most;
        *count += usize::from(has_room);
        has_room
    }

    /// An operation has ended, or its connection has.
    pub fn ends(&mut self, what: &What) {
        *self.of(what) -= 1;
    }

    fn of(&mut self, what: &What) -> &mut usize {
        match what {
            What::Receive(_) => &mut self.receives,
            What::Send { .. } | What::Read { .. } => &mut self.others,
        }
    }
}

/// An operation has ended.
pub enum Event {
    /// A message of so many bytes has come.
    Received(Buffer, usize),
    /// No message comes into this buffer any more, for this reason.
    NotReceived(Buffer, Error),
    /// A message was sent, or not.
    Sent(Buffer, u64, Result<(), Error>),
    /// Remote memory was read, or not; into this memory if no other was named.
    Read(u64, Option<Vec<u8>>, Result<(), Error>),
}

impl What {
    /// Of a message.
    pub fn into_buffer(self) -> Buffer {
        match self {
            What::Receive(buffer) | What::Send { buffer, .. } => buffer,
            What::Read { .. } => unreachable!("a read has no buffer"),
        }
    }

    pub fn event(self, len: usize, result: Result<(), Error>) -> Event {
        match (self, result) {
            (What::Receive(buffer), Ok(())) => {
                let len = len.min(buffer.bytes().len());
                Event::Received(buffer, len)
            }
            (What::Receive(buffer), Err(error)) => Event::NotReceived(buffer, error),
            (What::Send { buffer, tag }, result) => Event::Sent(buffer, tag, result),
            (What::Read { tag, own, .. }, result) => Event::Read(tag, own, result),
        }
    }
}
