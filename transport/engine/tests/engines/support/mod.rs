//! What several tests need.

pub mod carry;
pub mod rng;
