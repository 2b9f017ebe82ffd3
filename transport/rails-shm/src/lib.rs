//! Links in shared memory between two endpoints of one host, beside those over their network.
//!
//! [`SharedMemoryLink`] is one subchannel: a [`Sender`], a [`Receiver`], and a socket between the two processes, by which
//! either notices the end of the other and wakes it. Beside these, each side has a table of memory that the other one may
//! access by itself ([`Exposed`]), and does so ([`Direct`]). [`layout`] says what is where in the memory, [`setup`] how two
//! endpoints come to share it. The links of an endpoint are in `fishplate-rails`. Docs: `docs/internals/shared-memory.md`.
#![deny(unsafe_code)]

mod direct;
#[cfg(any(test, feature = "hostile-input"))]
pub mod direction;
mod exposed;
mod exposure;
pub mod layout;
mod link;
mod receiver;
mod sender;
pub mod setup;
#[allow(unsafe_code)]
mod sys;
#[cfg(test)]
mod tests;
mod threads;

pub use direct::Direct;
pub use exposed::{Exposed, Stuck};
pub use layout::kind;
pub use link::SharedMemoryLink;
pub use receiver::{BadRecord, Placed, Receiver, Record};
pub use sender::{NeverSent, Sender};
pub use sys::process_memory::Known;
