//! The interface to MPI, with all unsafe code of this crate.
//!
//! - The MPI library: its symbols ([`library`]), its functions ([`functions`]), what differs between binary interfaces
//!   ([`abi`]);
//! - safe wrappers of its objects ([`objects`], [`requests`], [`mailbox`], [`memory`], [`datatype`], [`attribute`],
//!   [`generalized_request`], [`cluster_collective`]), which the rest of the crate uses;
//! - the program's calls: where they come in ([`entry`]), the functions that take the place of MPI's ([`overrides`]), and
//!   how a collective call becomes a schedule ([`call`], [`dispatch`], [`plan`]);
//! - the machine: [`clock`], [`process`], [`dynamic_linker`], [`lookup`], [`mapped_file`], [`loaded`]; the provider of this
//!   project, [`rail_bytes`].

// The numbers of arguments are those of MPI's functions.
#![allow(clippy::too_many_arguments)]

mod abi;
mod attribute;
mod call;
pub mod clock;
mod cluster_collective;
mod datatype;
mod dispatch;
mod dynamic_linker;
mod entry;
mod functions;
mod generalized_request;
mod library;
mod loaded;
mod lookup;
mod mailbox;
mod mapped_file;
mod memory;
mod objects;
mod other_connections;
mod overrides;
mod plan;
mod process;
mod rail_bytes;
mod requests;

pub use abi::Abi;
pub use attribute::Attribute;
pub use datatype::Unpacking;
pub use dynamic_linker::module_of;
pub use functions::is_initialized;
pub use generalized_request::GeneralizedRequest;
pub use mailbox::Mailbox;
pub use mapped_file::{GrowingFile, create as create_mapped_file};
pub use memory::{Memory, Scratch};
pub use objects::{Comm, Error, Op, Result, host_name, library_version};
pub use other_connections::elsewhere;
pub use process::in_forked_children;
pub use rail_bytes::{Counter, Provider};
pub use requests::Requests;
