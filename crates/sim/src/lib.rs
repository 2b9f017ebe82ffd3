//! Discrete-event simulation of Fishplate: the real protocol engine in virtual time.
//!
//! [`events`] is the core that every simulation here is built on; [`transport`] puts the engine through seeded faults.
#![forbid(unsafe_code)]

pub mod events;
pub mod transport;
