//! Engines that talk over rails of the test's own making, in virtual time.

pub mod check;
pub mod failures;
pub mod memory;
pub mod node;
pub mod oracle;
pub mod pipe;
pub mod remote;
pub mod rng;
pub mod workload;
pub mod world;
