//! MPI over the models: processes with the real protocol engine, in virtual time.

pub mod collectives;
pub mod costs;
mod ends;
mod interruptions;
mod kernel;
pub mod program;
pub mod rank;
pub mod world;
