//! An operation under way, and its completion.

use std::ffi::c_void;

use super::Error;
use super::address::PeerAddress;
use super::buffer::Buffer;
use super::registration::Registration;

/// An operation under way. Providers use the first bytes until it completes.
#[repr(C)]
pub(super) struct Operation {
    pub providers: [*mut c_void; 8],
    /// Its key in the slab of operations.
    pub at: usize,
    /// Its connection, if endpoints are connected.
    pub connection: Option<PeerAddress>,
    /// `None`: its connection is closed. A completion may come nevertheless, so that the structure stays.
    pub what: Option<What>,
}

// SAFETY: goes where its port goes.
unsafe impl Send for Operation {}

pub(super) enum What {
    Receive(Buffer),
    Send { buffer: Buffer, tag: u64 },
    Read { tag: u64, _registration: Option<Registration>, own: Option<Vec<u8>> },
}

/// Limits the operations under way to the room for their completions. Half of it is for receives, half for operations of this side,
/// so that neither blocks the other.
pub(super) struct UnderWay {
    /// Limit of each half.
    pub most: usize,
    receives: usize,
    others: usize,
}

impl UnderWay {
    /// For a completion queue with this room.
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

/// The completion of an operation.
pub enum Event {
    /// A message of this length, in bytes, has come.
    Received(Buffer, usize),
    /// A receive has failed, for this reason.
    NotReceived(Buffer, Error),
    /// A send has completed, or failed.
    Sent(Buffer, u64, Result<(), Error>),
    /// A remote read has completed, or failed; with the memory that it read into, unless that is user memory.
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

/// The result of beginning an operation.
#[derive(Debug)]
pub enum Posted<T> {
    /// It is under way, or has ended; an event will follow.
    Yes,
    /// There is no room now.
    Again(T),
}

/// Where a read begins in a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Address, as sent by the peer.
    pub address: u64,
    /// Key, as sent by the peer.
    pub key: u64,
}
