//! What the engine's own attacker (`crate::hostile`) takes from its surroundings.

pub mod rng;
