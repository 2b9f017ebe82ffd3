//! MPI: its functions, its objects, and the functions that stand in front of it. All that is unsafe is here.

// MPI says how many arguments its functions have.
#![allow(clippy::too_many_arguments)]

mod abi;
mod attribute;
mod call;
mod datatype;
mod enter;
mod exports;
mod finish;
mod functions;
mod generalized;
mod library;
mod local;
mod mailbox;
mod memory;
mod objects;
mod plan;
mod requests;

pub use abi::Abi;
pub use attribute::Attribute;
pub use finish::Finish;
pub use generalized::Generalized;
pub use mailbox::Mailbox;
pub use memory::{Memory, Scratch};
pub use objects::{Comm, Error, Op, Result, host_name};
pub use requests::Requests;
