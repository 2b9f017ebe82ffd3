//! What links of all kinds share: over TCP (`fishplate-rails`), in shared memory (`fishplate-rails-shm`), over the providers
//! of a libfabric (`fishplate-rails-ofi`).
//!
//! - [`Link`]: the interface of a link to its endpoint. `docs/internals/architecture.md` says what a new kind needs.
//! - Where payloads are: [`UserMemory`], [`BounceBuffers`], the [`Destination`] of one that is being received.
//! - [`WaitingFrame`]: a frame that a link cannot send yet.
//! - [`Checksum`] of frames; [`random()`] numbers; names as patterns say ([`matches()`]).
#![deny(unsafe_code)]

mod bounce_buffers;
mod checksum;
mod destination;
mod link;
mod pattern;
mod random;
#[allow(unsafe_code)]
mod sys;
mod waiting_frame;

pub use bounce_buffers::BounceBuffers;
pub use checksum::{CHECK_LEN, Checksum};
pub use destination::Destination;
pub use link::{Common, Counts, Ending, Link, Places};
pub use pattern::matches;
pub use random::random;
pub use sys::memory::{UserMemory, overlaps, payload_of};
pub use waiting_frame::{Content, Held, WaitingFrame};
