//! A simulated provider for tests: endpoints in one process and in virtual time, whose operations end late, out of
//! order, in error or never, as a seed says.

mod network;
mod port;

pub use network::{Access, Mood, Network, SharedNetwork};
pub use port::SimulatedPort;

/// True with a probability of `permille` per mille.
pub fn happens(rng: &mut fastrand::Rng, permille: u64) -> bool {
    rng.u64(..1000) < permille
}
