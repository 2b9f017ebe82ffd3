//! The border to MPI, with all unsafe code of this crate.
//!
//! - The MPI library: its symbols ([`library`]), its functions ([`functions`]), what differs between binary interfaces
//!   ([`abi`]);
//! - safe wrappers of its objects ([`objects`], [`requests`], [`mailbox`], [`memory`], [`datatype`], [`attribute`],
//!   [`generalized_request`], [`cluster_collective`]), which the rest of the crate uses;
//! - the program's calls: the functions in front of MPI's ([`exports`]), and how a collective call becomes a schedule
//!   ([`call`], [`dispatch`], [`plan`], [`unpacking`]).

// MPI says how many arguments its functions have.
#![allow(clippy::too_many_arguments)]

mod abi;
mod attribute;
mod call;
mod cluster_collective;
mod collective_table;
mod datatype;
mod dispatch;
mod exports;
mod functions;
mod generalized_request;
mod handle;
mod library;
mod mailbox;
mod memory;
mod objects;
mod plan;
mod requests;
mod unpacking;

pub use abi::Abi;
pub use attribute::Attribute;
pub use generalized_request::GeneralizedRequest;
pub use mailbox::Mailbox;
pub use memory::{Memory, Scratch};
pub use objects::{Comm, Error, Op, Result, host_name};
pub use requests::Requests;
pub use unpacking::Unpacking;
