//! The Fishplate protocol engine: virtual channels over several subchannels, scheduling policies, eager and
//! rendezvous protocols, matching. Free of I/O: it reads no clock, opens no socket, touches no payload byte.
#![forbid(unsafe_code)]

pub mod config;
pub mod ids;
pub mod memory;
pub mod policy;
pub mod request;
pub mod time;

pub use config::{Config, INJECT_SIZE};
pub use ids::{Context, MessageSeq, RailId, SubchannelId, VcId};
pub use memory::{BounceId, Extent, MemoryAction, Payload, Placement, Region};
pub use request::{
    Completion, Envelope, Failure, Operation, Pattern, PeekAction, PeekRequest, RecvRequest, SendRequest, Space,
};
pub use time::Instant;
