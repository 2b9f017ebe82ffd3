//! The transport in simulation: real engines, a driver loop like the real one, modelled rails, seeded faults, oracles.

mod commands;
mod connection;
mod data;
mod driver;
mod failing;
mod farewell;
mod faults;
mod flow;
mod frame;
mod growth;
mod hostile;
mod ids;
mod injury;
mod ledger;
mod memory;
mod mutation;
mod oracle;
mod run;
mod setup;
mod stream;
mod swarm;
mod trace;
mod workload;
mod world;

pub use data::Contents;
pub use faults::{Fault, Path};
pub use flow::Socket;
pub use growth::{Change, Streams};
pub use ids::HostId;
pub use mutation::Mutation;
pub use oracle::Violation;
pub use run::{Outcome, run};
pub use setup::{Rail, Setup};
pub use stream::{Stream, goodput};
pub use swarm::{draw, draw_cut};
pub use workload::Mix;
