//! Discrete-event simulation of Fishplate: the real protocol engine in virtual time. `fishplate simulate`, `predict`, `reproduce`
//! and `validate` are its users; everything that happens is a function of the arguments and a seed.
//!
//! [`events`] is the core that every simulation here is built on; [`transport`] puts the engine through seeded faults,
//! [`throughput`] says how fast it is over which rails, [`many_ranks`] how many ranks of a host share these.
//!
//! [`models`] are hardware, [`testbed`] machines of it as files, [`mpi`] programs on them, [`storage`] file systems,
//! [`suite`] the benchmarks, [`replay`] recorded programs, and [`reproduce`] what papers measured on such machines.
#![forbid(unsafe_code)]

pub mod events;
pub mod history;
pub mod many_ranks;
pub mod models;
pub mod mpi;
mod named;
pub mod replay;
pub mod reproduce;
pub mod storage;
pub mod suite;
pub mod testbed;
pub mod throughput;
pub mod transport;
