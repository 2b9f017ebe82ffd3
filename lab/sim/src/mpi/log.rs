//! Log of the messages of programs, with collective operations expanded.

use super::rank::{Request, Tag};
use crate::models::time::Time;

/// A sequence of a rank: its program, and beside that each collective operation that it does not wait for at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strand(pub u32);

/// Something that a program did.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// It computed.
    Compute(Time),
    /// It began to send.
    Send {
        /// The request that it can wait for.
        request: Request,
        /// To whom.
        to: u32,
        /// With which tag.
        tag: Tag,
        /// How much.
        bytes: u64,
    },
    /// It began to receive.
    Receive {
        /// The request that it can wait for.
        request: Request,
        /// From whom, unless from anybody.
        from: Option<u32>,
        /// With which tag.
        tag: Tag,
        /// Size of the buffer in bytes.
        bytes: u64,
    },
    /// It answered a synchronous send that it had received.
    Answer {
        /// The request that received it.
        receive: Request,
        /// To whom.
        to: u32,
        /// With which tag.
        tag: Tag,
    },
    /// It waited.
    Wait(Vec<Request>),
    /// It waited for all of a strand.
    Join(Strand),
    /// It began a one-sided operation.
    OneSided,
}

/// Of all ranks.
pub type Log = Vec<Vec<(Strand, Entry)>>;
