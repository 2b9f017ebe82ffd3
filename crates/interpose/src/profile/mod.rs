//! Profiles: what the program asks of MPI, recorded while it runs (docs/guide/profile.md).
//!
//! [`crate::ffi`] hands every call of the program to a [`Recorder`], which keeps counts in a file that is mapped to memory:
//! they are there however the process ends. `fishplate profile` reads the files of all ranks.
//!
//! - [`recorder`]: what a call adds to which count;
//! - [`call_sites`]: where the program makes calls;
//! - [`communicators`], [`handles`], [`requests`], [`probed`], [`message_numbers`]: what has to be known of earlier calls;
//! - [`events`]: messages that other ranks' records are held against;
//! - [`timeline`], [`rails`], [`interfaces`]: what changes over time;
//! - [`session`]: from MPI_Init to MPI_Finalize.

mod call_sites;
mod communicators;
mod events;
mod handles;
mod interfaces;
mod message_numbers;
mod probed;
mod rails;
mod recorder;
mod requests;
mod session;
mod tables;
mod timeline;

pub use communicators::{Communicator, Freed, Origin};
pub use handles::Id;
pub use message_numbers::hash;
pub use probed::Probed;
pub use recorder::{Collective, Message, Moment, Recorder};
pub use requests::{Operation, Request};
pub use session::{
    Session, abort, begin_end, finish, get, give_up, interrupted, is_last, pause, resume, start, unique,
};
