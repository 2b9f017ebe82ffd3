//! What stands for a provider in tests: endpoints in one process and in virtual time, whose operations end late, out of
//! order, in error or never, as a seed says.

mod network;
mod port;
mod rng;

pub use network::{Access, Mood, Network, SharedNetwork};
pub use port::SimulatedPort;
#[cfg(feature = "hostile-input")]
pub use port::SimulatedRegistration;
pub use rng::Rng;
