//! An endpoint: one engine over all rails of this node.

use std::fmt;

use fishplate_engine::{Completion, Context, Failure, PeekRequest, RecvRequest, SendRequest, VcId};

use crate::address::Address;
use crate::settings::Settings;

/// One engine over all rails. Progresses only when called; never blocks except in [`Endpoint::close`].
pub struct Endpoint {}

/// An endpoint could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(pub String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

/// A send that cannot be taken now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The copies of injected messages fill their memory: progress, then try again.
    Again,
    /// An injected message longer than [`fishplate_engine::INJECT_SIZE`].
    TooLong,
    /// The peer is lost.
    Failed(Failure),
}

#[allow(unused_variables)]
impl Endpoint {
    /// Finds the rails, listens on them.
    ///
    /// # Safety
    /// From now on every extent of a request has `region` = the address of memory of this process
    /// (`offset` is added to it) that stays valid, and is not otherwise written (sends) or accessed (receives),
    /// until the operation's completion has been polled, or, for injected sends, until `send` returns.
    #[allow(unsafe_code)]
    pub unsafe fn open(settings: &Settings) -> Result<Endpoint, OpenError> {
        unimplemented!()
    }

    /// What peers need in order to reach this endpoint.
    pub fn address(&self) -> &Address {
        unimplemented!()
    }

    /// The virtual channel to the peer at `address`; the same one for the same peer. Connects on first use.
    pub fn peer(&mut self, address: &Address) -> VcId {
        unimplemented!()
    }

    /// Posts a send.
    pub fn send(&mut self, request: SendRequest) -> Result<(), PostError> {
        unimplemented!()
    }

    /// Posts a receive. Matching messages that are already here complete it.
    pub fn recv(&mut self, request: RecvRequest) {
        unimplemented!()
    }

    /// Looks for an unexpected message. Always reports a completion ([`Failure::NoMessage`] for a miss).
    pub fn peek(&mut self, request: PeekRequest) {
        unimplemented!()
    }

    /// Receives the message that a peek claimed under the same context; false if there is none.
    pub fn recv_claimed(&mut self, request: RecvRequest) -> bool {
        unimplemented!()
    }

    /// Drops the message that a peek claimed under `context`, with a completion; false if there is none.
    pub fn discard_claimed(&mut self, context: Context) -> bool {
        unimplemented!()
    }

    /// Cancels a receive that has not matched: it completes with [`Failure::Cancelled`]. False: it takes its course.
    pub fn cancel(&mut self, context: Context) -> bool {
        unimplemented!()
    }

    /// Moves data. True if anything happened.
    pub fn progress(&mut self) -> bool {
        unimplemented!()
    }

    /// The next completion, if any.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        unimplemented!()
    }

    /// Sends what is still to be sent (bounded by the timeout), says goodbye, writes counters, closes everything.
    pub fn close(self) {
        unimplemented!()
    }
}
