//! The byte stream of a link: the queue in front of its socket, the state behind it, and records where it is encrypted.

pub mod kernel_acks;
pub mod receive;
mod records;
pub mod transmit;
