//! Profiles: statistics of the program's MPI calls, recorded while it runs (docs/guide/profile.md).
//!
//! [`crate::ffi`] passes every call of the program to a [`Recorder`], which keeps counters in a memory-mapped file that
//! survives the process however it ends. `fishplate profile` reads the files of all ranks.
//!
//! - [`recorder`]: adds a call to the counters;
//! - [`call_sites`]: call sites;
//! - [`communicators`], [`handles`], [`requests`], [`message_numbers`]: state of earlier calls;
//! - [`events`]: messages for comparison with the records of other ranks;
//! - [`timeline`], [`rails`], [`interfaces`]: time series;
//! - [`session`]: from MPI_Init to MPI_Finalize.

mod call_sites;
mod communicators;
mod events;
mod handles;
mod interfaces;
mod message_numbers;
mod rails;
mod recorder;
mod requests;
mod session;
mod tables;
mod timeline;

pub use communicators::{Communicator, Freed, Origin};
pub use handles::Id;
pub use message_numbers::hash;
pub use recorder::{Moment, Recorder};
pub use requests::{Collective, Message, Operation, Probed, Request};
pub use session::{
    Session, abort, begin_end, finish, get, give_up, interrupted, is_last, pause, resume, start, unique,
};
