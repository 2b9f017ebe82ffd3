//! The emulated long-distance router pair: rails between network namespaces whose packets take as long, and get lost
//! as often, as a [`fishplate_link::Link`] says.
//!
//! One process with one thread serves all rails of a laboratory ([`serve`]); another drives it over a pair of pipes or
//! a socket, a line of JSON each way ([`Emulator`]). docs/internals/longbow.md tells what is emulated and how exactly.
//!
//! `fishplate lab` is made of it. By itself it needs the right to make network namespaces; [`check()`] says what is missing.
//! `examples/measure.rs` measures how exact it is on a machine.
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
