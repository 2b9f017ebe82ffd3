//! Real rails for the Fishplate engine: TCP sockets, one or more a network interface and peer, and the driver that
//! pumps an engine over them.
#![deny(unsafe_code)]

pub mod address;
mod bounce_buffers;
mod clock;
mod connect;
mod counters;
pub mod discover;
pub mod encryption;
pub mod endpoint;
pub mod handshake;
mod link;
mod link_name;
pub mod live;
mod logger;
mod pairing;
pub mod probe;
pub mod process;
mod rail;
pub mod settings;
mod socket;
pub mod streams;
#[allow(unsafe_code)]
mod sys;

pub use address::{ADDRESS_LEN, Address};
pub use endpoint::{Endpoint, OpenError, PostError};
pub use settings::Settings;
