//! The transport in simulation: real engines, a driver loop like the real one, modelled rails, seeded faults, oracles.
//!
//! [`run()`] runs a [`Setup`]: a `world` of hosts (`driver`, `in_memory`) with links between them (`connection`) of two
//! kinds (`link_kind`: `flow`, `memory_flow`), whose users draw commands from a `mix` (`workload`, `commands`, `counting`), while faults
//! happen (`faults`, `fault_injection`) and links come up (`memory_setup`), break and close (`connection_loss`,
//! `stream_shutdown`), are given back (`eviction`), or whose endpoints are closed (`closing`). `oracle` checks the
//! invariants, that of credit at the end by a `flood`; `random_setup` draws a setup. A [`Scenario`] is moved on by a
//! script instead.

mod arithmetic;
mod closing;
mod commands;
mod connection;
mod connection_loss;
mod counting;
mod data;
mod driver;
mod eviction;
mod fault_injection;
mod faults;
mod flood;
mod flow;
mod frame;
mod hostile;
mod ids;
mod in_memory;
mod ledger;
mod link_kind;
mod memory;
mod memory_flow;
mod memory_setup;
mod mix;
mod mutation;
mod oracle;
mod planted_bugs;
mod random_setup;
mod run;
mod scenario;
mod setup;
mod shape;
mod shared_memory;
mod stage;
mod stream;
mod stream_changes;
mod stream_shutdown;
mod trace;
mod workload;
mod world;

pub use commands::Outgoing;
pub use data::Contents;
pub use faults::{Fault, Outage, Path};
pub use flow::Socket;
pub use ids::HostId;
pub use mix::Mix;
pub use mutation::Mutation;
pub use oracle::Violation;
pub use random_setup::{draw, draw_cut, draw_shared};
pub use run::{Outcome, run};
pub use scenario::Scenario;
pub use setup::{Rail, Setup};
pub use shared_memory::SharedMemory;
pub use stream::{Stream, goodput};
pub use stream_changes::{Change, Streams};
