//! MPI over the models: processes with the real protocol engine, in virtual time.

pub mod causes;
pub mod chain;
mod channels;
pub mod collectives;
pub mod costs;
mod flow_ends;
pub mod knowledge;
pub mod log;
mod os_noise;
mod port_shares;
pub mod program;
pub mod rail_bytes;
pub mod rank;
mod synchronous;
mod tcp_info;
pub mod world;
