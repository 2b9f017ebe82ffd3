//! An emulator of long-distance links: rails between network namespaces whose packets are delayed and lost as a
//! [`fishplate_link::Link`] decides.
//!
//! One process with one thread serves all rails of a laboratory ([`serve`]). Another process controls it over a pair of pipes
//! or a socket, with a line of JSON for each message ([`Emulator`]). docs/internals/longbow.md describes the emulation,
//! and its accuracy.
//!
//! `fishplate lab` uses it. It needs the right to create network namespaces; [`check()`] describes missing rights and devices.
//! `examples/measure.rs` measures its accuracy on a machine.
#![deny(unsafe_code)]

mod backend_check;
mod control_channel;
mod emulator;
mod emulator_process;
mod event_loop;
mod flip;
mod frame;
mod lane;
mod lateness;
mod message;
mod namespace;
mod netlink;
mod nfqueue;
mod offload;
mod plan;
mod sys;
mod tap;
mod wire;

pub use backend_check::check;
pub use emulator::Emulator;
pub use emulator_process::serve;
pub use event_loop::EARLY_NS;
pub use fishplate_link as link;
pub use message::{LaneStatus, Lateness, Ready, Request, Response, Status};
pub use offload::offload_limit_bytes;
pub use plan::{Backend, Direction, End, Plan, Rail};
