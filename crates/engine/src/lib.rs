//! The Fishplate protocol engine: virtual channels over several subchannels, scheduling policies, eager and
//! rendezvous protocols, matching. Free of I/O: it reads no clock, opens no socket, touches no payload byte.
#![forbid(unsafe_code)]

mod channel;
pub mod config;
mod engine;
mod envelope;
mod generational_slab;
pub mod ids;
mod intervals;
pub mod limits;
mod matching;
pub mod memory;
pub mod policy;
mod registered_memory;
pub mod request;
pub mod retire;
pub mod time;
pub mod wire;

pub use channel::ASSUMED_RATE;
pub use channel::path::{Path, PathEstimate};
pub use channel::transmit::Source;
pub use config::Config;
pub use engine::{Engine, PostError, ProtocolViolation, Refused, SendKey, Transmit};
pub use envelope::Envelope;
pub use ids::{Context, MessageSeq, RailId, SubchannelId, VcId};
pub use limits::{INJECT_SIZE, MAX_SUBCHANNELS};
pub use memory::{BounceId, Extent, MemoryAction, Payload, Placement, Region};
pub use registered_memory::{KeyInUse, Registration};
pub use request::{
    Completion, Failure, Operation, Pattern, PeekAction, PeekRequest, ReadRequest, RecvRequest, Remote, SendRequest,
    Space, WriteRequest,
};
pub use time::Instant;
pub use wire::Refusal;
