//! The Fishplate protocol engine: virtual channels over several subchannels, scheduling policies, eager and
//! rendezvous protocols, matching. Free of I/O: it reads no clock, opens no socket, touches no payload byte.
//!
//! The driver of an [`Engine`] gives it the time with every call, carries frames between engines, in order on each
//! subchannel, and moves bytes where the engine says. `fishplate-rails` does it with sockets, `fishplate-sim` with modelled
//! links. [`Engine`] lists commands, events and polls; docs/internals/architecture.md gives the reasons for this design.
//!
//! ```
//! use fishplate_engine::{Config, Engine, Instant, RailId};
//! # use fishplate_engine::{Context, Envelope, Payload, Pattern, RecvRequest, SendRequest};
//!
//! let mut engines = [Engine::new(Config::default()), Engine::new(Config::default())];
//! let vcs = engines.each_mut().map(Engine::open);
//!
//! // One rail between the two; each side learns what the other grants, and that its end takes 64 KiB.
//! let grants = [engines[1].first_grant(vcs[1]), engines[0].first_grant(vcs[0])];
//! let mut ends = Vec::new();
//! for side in [0, 1] {
//!     let end = engines[side].subchannel_up(vcs[side], RailId(0), None, grants[side]).unwrap();
//!     engines[side].writable(end, 64 << 10);
//!     ends.push(end);
//! }
//!
//! // A message without bytes, so that nothing has to be moved.
//! engines[1].post_recv(RecvRequest::new(Pattern::MESSAGE, Payload::EMPTY, Context(2)));
//! engines[0].post_send(SendRequest::new(vcs[0], Envelope::Message, Payload::EMPTY, Context(1))).unwrap();
//! while let Some(frame) = engines[0].poll_transmit(Instant(0)) {
//!     engines[1].handle_header(Instant(1000), ends[1], &frame.header).unwrap();
//! }
//! assert!(engines[1].poll_completion().is_some_and(|received| received.result.is_ok()));
//! ```
//!
//! `examples/two_engines.rs` is a whole driver in virtual time, with two rails and a message that is cut over them.
#![forbid(unsafe_code)]

mod atomic;
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
mod processor;
mod registered_memory;
pub mod request;
pub mod retire;
pub mod time;
pub mod wire;

pub use atomic::{Atomic, AtomicOperation, Datatype, MAX_ATOMIC_LEN};
pub use channel::path::{Path, PathEstimate, PortBytes, PortShare, TimeRange};
pub use channel::{ASSUMED_RATE, INTERRUPTION_NS, PADDING_SEGMENT, SILENCE_NS};
pub use config::Config;
pub use engine::{Engine, PostError, ProtocolViolation, Refused, SendKey, Transmit, Unanswered};
pub use envelope::Envelope;
pub use ids::{Context, MessageSeq, RailId, SubchannelId, VcId};
pub use limits::{INJECT_SIZE, MAX_SUBCHANNELS};
pub use memory::{ApplyId, BounceId, Extent, MemoryAction, Payload, Placement, Region, Source};
pub use processor::ProcessorCost;
pub use registered_memory::{KeyInUse, Registration};
pub use request::{
    AtomicRequest, Completion, Failure, Operation, Pattern, PeekAction, PeekRequest, ReadRequest, RecvRequest, Remote,
    SendRequest, Space, WriteRequest,
};
pub use time::Instant;
pub use wire::Refusal;
